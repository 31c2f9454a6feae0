/** Names Perl frames by the strings that the kernel side sends once for each name. */
import {
  type CounterName,
  INTERPRETER_PERL,
  PERL_EVAL,
  PERL_FILE_SHIFT,
  PERL_MAIN,
  PERL_NAME_LEXICAL,
  PERL_NAME_NO_STASH,
  PERL_NAME_NONE,
  PERL_OP_MASK,
  PERL_OP_SHIFT,
} from "../../../build/abi.ts";
import type { Drained, InterpretedName, NamePart, PerlInterpreter } from "../../addon/drained.ts";
import { cleanName } from "../../tick/clean-name.ts";
import { InterpretedNames, notReceived, textOf } from "../interpreted-names.ts";
import type { NamedFrame, NamedFunction } from "../reader.ts";

/** Blocks that the interpreter calls when it starts or ends; they have no other name (perlmod). */
const PHASES = new Set(["BEGIN", "UNITCHECK", "CHECK", "INIT", "END"]);

/** Names of ops that do nothing themselves: they stand between others. */
const SILENT_OPS = new Set(["", "null", "nextstate", "dbstate", "freed", "custom"]);

const MAX_ROOMLESS = 3;

const CHECKED = "its layout was checked against itself";

export class PerlNames {
  readonly #names = new InterpretedNames(INTERPRETER_PERL, compose);
  readonly #interpreters = new Map<number, PerlInterpreter>();
  /** Paths of interpreters that the kernel side has no room for. */
  readonly #roomless = new Set<string>();

  /** Takes in the interpreters of files, and the strings that the kernel side sent. */
  ingest(drained: Pick<Drained, "files" | "names" | "renewed">): void {
    for (const { perl, path } of drained.files) {
      if (perl) this.#interpreters.set(perl.index, perl);
      if (perl?.index === 0 && this.#roomless.size < MAX_ROOMLESS)
        this.#roomless.add(cleanName(path));
    }
    this.#names.ingest(drained);
  }

  /** Warns of interpreters whose version is not known, where samples hit such a one in this refresh. */
  notices(metrics: Readonly<Partial<Record<CounterName, number>>>): string[] {
    const { UnwindPerlErrVersion = 0, UnwindPerlUnverified = 0, UnwindPerlMisfits = 0 } = metrics;
    const checked =
      UnwindPerlMisfits > UnwindPerlUnverified / 2
        ? "it cannot be read, because its layout is another"
        : CHECKED;
    const said = [...this.#interpreters.values()]
      .filter(({ warning }) => warning !== "")
      .filter(({ refused }) => (refused ? UnwindPerlErrVersion : UnwindPerlUnverified) > 0)
      .map(({ refused, warning }) => (refused ? warning : `${warning}: ${checked}`));
    const roomless = [...this.#roomless].map(
      (path) => `there is no room for another Perl interpreter: subs of ${path} are not shown`,
    );
    return [...new Set(said), ...roomless];
  }

  /** Names the frame of a name; `meta` and `line` as in struct interpreted_frame. */
  read(name: bigint, meta: number, line: number): NamedFrame {
    const named = this.#names.get(name) ?? UNKNOWN;
    const note = this.#op(meta);
    if (line === 0 && note === undefined) return { function: named };
    const detail = { ...(line > 0 ? { line } : {}), ...(note === undefined ? {} : { note }) };
    return { function: named, detail };
  }

  #op(meta: number): string | undefined {
    const op = (meta >>> PERL_OP_SHIFT) & PERL_OP_MASK;
    if (op === 0) return undefined;
    const name = this.#interpreters.get(meta >>> PERL_FILE_SHIFT)?.opNames[op - 1] ?? "";
    return SILENT_OPS.has(name) ? undefined : name;
  }
}

const UNKNOWN = notReceived("perl", "sub");

function compose({ kind, flags, parts: [sub, stash, file] }: InterpretedName): NamedFunction {
  const text = (part: NamePart | undefined): string => (part ? textOf(part) : "");
  const module = text(file);
  const found = (name: string): NamedFunction => ({
    runtime: "perl",
    name,
    module: module === "(eval" ? "(eval)" : module,
  });
  if (kind === PERL_EVAL) return found("(eval)");
  if (kind === PERL_MAIN) return found("(main)");
  // caller() calls subs without a name so.
  if (flags & PERL_NAME_NONE) return found("(unknown)");
  const name = text(sub);
  if (flags & PERL_NAME_LEXICAL || PHASES.has(name)) return found(name);
  return found(`${flags & PERL_NAME_NO_STASH ? "__ANON__" : text(stash)}::${name}`);
}
