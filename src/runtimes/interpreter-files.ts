/** The files that hold an interpreter: which of their code carries out a program, and what is to be told of them. */
import type { Drained, InterpreterFile } from "../addon/drained.ts";

/** The files that hold an interpreter of one kind. */
export class InterpreterFiles {
  readonly #kind: number;
  /** By the id of the file. */
  readonly #files = new Map<number, InterpreterFile>();
  /** What is to be told of interpreters that are refused, and whether it was. */
  readonly #warnings = new Map<string, boolean>();

  /** `kind`: one of enum interpreter_kind. */
  constructor(kind: number) {
    this.#kind = kind;
  }

  /** Takes in files that became known; an id may have been another file's before. */
  ingest({ files }: Pick<Drained, "files">): void {
    for (const { id, path, interpreter } of files) {
      if (interpreter?.kind !== this.#kind) {
        this.#files.delete(id);
        continue;
      }
      this.#files.set(id, interpreter);
      // A release runs on a Node without symbols: whoever looks at a machine need not be told of that.
      if (path === process.execPath) continue;
      const { warning } = interpreter;
      if (warning !== "" && !this.#warnings.has(warning)) this.#warnings.set(warning, false);
    }
  }

  /** What is to be told of interpreters that are refused, each text once. */
  takeWarnings(): string[] {
    const untold = [...this.#warnings].filter(([, told]) => !told).map(([warning]) => warning);
    for (const warning of untold) this.#warnings.set(warning, true);
    return untold;
  }
}
