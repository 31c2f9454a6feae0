/** Names the frames of Python. */
import { type CounterName, INTERPRETER_PYTHON } from "../../../build/abi.ts";
import type { Drained, InterpretedName } from "../../addon/drained.ts";
import { InterpretedNames, notReceived, textOf } from "../interpreted-names.ts";
import { InterpreterFiles } from "../interpreter-files.ts";
import type { NewFrames } from "../new-frames.ts";
import type { NamedFrame, NamedFunction, RuntimeReader } from "../reader.ts";

const UNKNOWN = notReceived("python");

/** The function of a code object: its qualified name, and its file as Python knows it. */
export function pythonFunction({ parts: [name, , file] }: InterpretedName): NamedFunction {
  const text = name ? textOf(name) : "";
  return {
    runtime: "python",
    name: text === "<module>" ? "(module)" : text,
    module: file ? textOf(file) : "",
  };
}

export class PythonReader implements RuntimeReader {
  readonly #names = new InterpretedNames(INTERPRETER_PYTHON, pythonFunction);
  readonly #files = new InterpreterFiles(INTERPRETER_PYTHON);

  ingest(drained: Drained): void {
    this.#files.ingest(drained);
    this.#names.ingest(drained);
  }

  symbolize(frames: NewFrames, index: number): NamedFrame | undefined {
    if (frames.interpreter(index) !== INTERPRETER_PYTHON) return undefined;
    const named = this.#names.get(frames.word(index)) ?? UNKNOWN;
    const line = frames.line(index);
    return line > 0 ? { function: named, detail: { line } } : { function: named };
  }

  /** Tells once of each interpreter that is refused or newer than what was tried, when samples hit such a one. */
  notices({
    UnwindPythonErrVersion = 0,
    UnwindPythonUntried = 0,
  }: Readonly<Partial<Record<CounterName, number>>>): string[] {
    return UnwindPythonErrVersion + UnwindPythonUntried === 0 ? [] : this.#files.takeWarnings();
  }
}
