/** The harnesses of test/fuzz/harness: what each of them is to reach. */

export interface Harness {
  readonly name: string;
  readonly about: string;
  /** Sources below native/ whose lines it is to reach. */
  readonly sources: readonly string[];
  /** Longest input, in bytes. */
  readonly longest: number;
}

export const HARNESSES: readonly Harness[] = [
  {
    name: "rows",
    about: "unwind rows: .eh_frame, its header, .debug_frame, Go's table",
    sources: [
      "unwind/unwind_table.cpp",
      "unwind/eh_frame.cpp",
      "dwarf/dwarf_cfa.cpp",
      "dwarf/dwarf_rule.cpp",
      "unwind/sound_table.cpp",
      "go/go_rows.cpp",
      "go/go_table.cpp",
    ],
    longest: 4096,
  },
  {
    name: "code",
    about: "unwind rows made of instructions",
    sources: [
      "arch/instruction.cpp",
      "arch/operands.h",
      "arch/vector_instructions.h",
      "code/code_flow.cpp",
      "code/code_piece.cpp",
      "code/frame_state.cpp",
    ],
    longest: 2048,
  },
  {
    name: "facts",
    about: "headers of ELF files, facts of runtimes, probes, needed files",
    sources: [
      "elf/elf_image.cpp",
      "elf/data_symbols.cpp",
      "arch/thread_access.cpp",
      "perl/perl_file.cpp",
      "python/python_file.cpp",
      "dotnet/dotnet_file.cpp",
      "v8/v8_file.cpp",
      "elf/needed_files.cpp",
      "probes/find_probes.cpp",
      "probes/symbol_versions.cpp",
    ],
    longest: 16_384,
  },
  {
    name: "symbols",
    about: "symbols, debug files, packed symbols, Go's functions",
    sources: [
      "symbols/find_symbols.cpp",
      "symbols/function_names.cpp",
      "symbols/symbol_list.cpp",
      "symbols/symbol_table.cpp",
      "naming/symbol_index.cpp",
      "elf/debug_links.cpp",
      "elf/lzma_section.cpp",
      "go/go_functions.cpp",
    ],
    longest: 65_536,
  },
  {
    name: "lines",
    about: "DWARF lines, through libdw",
    sources: [
      "lines/debug_lines.cpp",
      "lines/line_list.cpp",
      "lines/line_places.cpp",
      "lines/line_table.cpp",
    ],
    longest: 8192,
  },
  {
    name: "demangle",
    about: "names of C++, Rust and D",
    sources: ["symbols/demangle.cpp", "symbols/demangle_cpp.cpp"],
    longest: 1024,
  },
  {
    name: "pe",
    about: ".NET images, bundles, unwind codes, methods",
    sources: [
      "dotnet/pe_file.cpp",
      "dotnet/ready_to_run.cpp",
      "dotnet/find_methods.cpp",
      "dotnet/method_signature.cpp",
      "dotnet/native_format.h",
      "arch/seh.cpp",
    ],
    longest: 32_768,
  },
  {
    name: "cache",
    about: "tables of earlier runs",
    sources: ["cache/stored_table.cpp", "unwind/sound_table.cpp"],
    longest: 2048,
  },
  {
    name: "perl",
    about: "op trees of Perl programs",
    sources: ["perl/perl_op_tree.cpp", "perl/perl_statements.cpp"],
    longest: 2048,
  },
  {
    name: "python",
    about: "tables of lines and layouts of Python",
    sources: ["python/python_table.cpp", "python/python_layout.cpp", "python/debug_offsets.cpp"],
    longest: 1024,
  },
  {
    name: "v8",
    about: "positions, lines and compiled calls of JavaScript",
    sources: ["v8/position_table.cpp", "v8/compiled_calls.cpp", "v8/script_lines.cpp"],
    longest: 1024,
  },
  {
    name: "answers",
    about: "what a parser that was led astray answers",
    sources: [
      "parser/parsed_file.cpp",
      "perl/perl_facts.cpp",
      "python/python_facts.cpp",
      "v8/v8_facts.cpp",
      "dotnet/dotnet_facts.cpp",
      "symbols/symbol_list.cpp",
      "symbols/name_request.cpp",
      "lines/line_list.cpp",
      "probes/probe_list.cpp",
    ],
    longest: 4096,
  },
  {
    name: "proc",
    about: "lines of /proc/PID/maps and mountinfo",
    sources: ["mapped/proc_lines.cpp"],
    longest: 512,
  },
];
