/** Builds the programs of test/workloads, in the ways that programs come. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { exclusively } from "./exclusive.ts";
import { root } from "./polytop.ts";

/** Flags of gcc that make each way to build a program. */
export const VARIANTS = {
  /** What distributions ship: no frame pointers, position independent. */
  plain: ["-fomit-frame-pointer", "-pie", "-fPIE"],
  framePointer: ["-fno-omit-frame-pointer", "-pie", "-fPIE"],
  noPie: ["-fomit-frame-pointer", "-no-pie", "-fno-pie"],
  static: ["-fomit-frame-pointer", "-static", "-fno-pie"],
  staticPie: ["-fomit-frame-pointer", "-static-pie", "-fPIE"],
  stripped: ["-fomit-frame-pointer", "-pie", "-fPIE", "-s"],
  noSections: ["-fomit-frame-pointer", "-pie", "-fPIE", "-s"],
  unoptimized: ["-O0", "-fno-omit-frame-pointer", "-pie", "-fPIE"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type Variant = keyof typeof VARIANTS;

const sources = `${root}test/workloads/`;
const folder = `${root}build/workloads/`;

const isNewer = (source: string, than: string): boolean =>
  !existsSync(than) || statSync(source).mtimeMs > statSync(than).mtimeMs;

/** How a program differs from its plain build. */
export interface BuildOptions {
  readonly variant?: Variant;
  /** Told apart from other builds of the same source; part of the file name. */
  readonly as?: string;
  readonly flags?: readonly string[];
  /** Another one than the machine's own. */
  readonly compiler?: string;
}

/** The compiler for the C library that has no unwind rows, where it is installed. */
export const MUSL = "/usr/bin/musl-gcc";
export const GO = "/usr/bin/go";

/** What the code of guesses.c can do with rbp. */
export const GUESS_KINDS = [
  "leaf",
  "zero",
  "area",
  "frame",
  "calls",
  "saves",
  "interpreter",
] as const;

/** Whether the user frames of a stack of guesses.c, root first, lack a caller. */
export function lacksCaller(frames: readonly string[]): boolean {
  const chain = ["main", "outer", "inner"];
  const own = frames.filter((frame) => chain.includes(frame));
  const isBelow = frames.some((frame) => /^(in_\w+|burn_below|\[generated code\])$/.test(frame));
  return own.join() !== chain.slice(0, isBelow ? chain.length : own.length).join();
}

/** Builds a program of test/workloads, unless it is there, and says where it is. */
export const workload = (source: string, options: BuildOptions = {}): string =>
  exclusively(`workload-${options.as ?? source}`, () => builtWorkload(source, options));

function builtWorkload(source: string, options: BuildOptions): string {
  const { variant = "plain", as = source.replace(/\.\w+$/, ""), flags = [] } = options;
  const path = sources + source;
  const output = `${folder}${as}${variant === "plain" ? "" : `-${variant}`}`;
  const changed = [path, `${sources}spin.h`, import.meta.filename].some((it) =>
    isNewer(it, output),
  );
  if (!changed) return output;
  mkdirSync(folder, { recursive: true });
  const compiler = options.compiler ?? (source.endsWith(".cpp") ? "g++" : "gcc");
  // Made under another name: whoever runs the old one keeps it.
  const made = `${output}.new`;
  if (source.endsWith(".go")) {
    execFileSync(GO, ["build", ...flags, "-o", made, path]);
    execFileSync("mv", [made, output]);
    return output;
  }
  const common = ["-O2", "-g0", "-pthread", "-o", made, path];
  execFileSync(compiler, [...common, ...VARIANTS[variant], ...flags]);
  if (variant === "noSections") removeSectionHeaders(made);
  execFileSync("mv", [made, output]);
  return output;
}

/** Builds test/workloads/plugin.c with this function in it. */
export function plugin(name: string): string {
  return workload("plugin.c", {
    as: `${name}.so`,
    flags: ["-shared", "-fPIC", `-DFUNCTION=${name}`],
  });
}

/** Takes the section header table of a 64-bit ELF file out of it: e_shoff, e_shnum, e_shstrndx (ELF gABI, figure 4-3). */
function removeSectionHeaders(path: string): void {
  const elf = readFileSync(path);
  const headers = Number(elf.readBigUInt64LE(0x28));
  elf.writeBigUInt64LE(0n, 0x28);
  elf.writeUInt16LE(0, 0x3c);
  elf.writeUInt16LE(0, 0x3e);
  writeFileSync(path, elf.subarray(0, headers));
}
