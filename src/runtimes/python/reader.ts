/** Names the frames of Python, and puts them between the native frames of their stacks. */
import { COUNTER_IDS, type CounterName, INTERPRETER_PYTHON } from "../../../build/abi.ts";
import type { Drained, InterpretedName } from "../../addon/drained.ts";
import { InterpretedNames, textOf } from "../interpreted-names.ts";
import type { NewFrames } from "../new-frames.ts";
import type { NamedFrame, NamedFunction, RuntimeReader } from "../reader.ts";
import { PythonStacks } from "./stacks.ts";

const UNPAIRED = COUNTER_IDS.UnwindPythonUnpaired;

const UNKNOWN: NamedFunction = {
  runtime: "python",
  name: "[python: name not received]",
  module: "",
  whyUnnamed: "the strings of this function were lost on their way from the kernel",
};

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
  readonly #stacks = new PythonStacks();
  readonly interleaver = this.#stacks;
  /** What is to be told of interpreters that are refused, and whether it was. */
  readonly #warnings = new Map<string, boolean>();

  ingest(drained: Drained, frames: NewFrames): void {
    for (const { python } of drained.files) {
      const warning = python?.warning ?? "";
      if (warning !== "" && !this.#warnings.has(warning)) this.#warnings.set(warning, false);
    }
    this.#names.ingest(drained);
    this.#stacks.ingest(drained, frames);
  }

  symbolize(frames: NewFrames, index: number): NamedFrame | undefined {
    if (frames.interpreter(index) !== INTERPRETER_PYTHON) return undefined;
    const named = this.#names.get(frames.word(index)) ?? UNKNOWN;
    const line = frames.line(index);
    return line > 0 ? { function: named, detail: { line } } : { function: named };
  }

  addCounts(counters: Float64Array): void {
    counters[UNPAIRED] = (counters[UNPAIRED] ?? 0) + this.#stacks.takeUnpaired();
  }

  /** Tells once of each interpreter that is refused, when samples hit such a one. */
  notices({
    UnwindPythonErrVersion = 0,
  }: Readonly<Partial<Record<CounterName, number>>>): string[] {
    if (UnwindPythonErrVersion === 0) return [];
    const untold = [...this.#warnings].filter(([, told]) => !told).map(([warning]) => warning);
    for (const warning of untold) this.#warnings.set(warning, true);
    return untold;
  }
}
