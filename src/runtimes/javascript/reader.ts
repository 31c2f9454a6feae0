/** Names the frames of JavaScript; the addon puts them between the native frames of their stacks. */
import {
  type CounterName,
  INTERPRETER_V8,
  V8_MERGED,
  V8_OTHER,
  V8_REGEXP,
  V8_WASM,
} from "../../../build/abi.ts";
import type { Drained } from "../../addon/drained.ts";
import { InterpretedNames, notReceived } from "../interpreted-names.ts";
import { InterpreterFiles } from "../interpreter-files.ts";
import type { NewFrames } from "../new-frames.ts";
import type { NamedFrame, NamedFunction, RuntimeReader } from "../reader.ts";
import { javascriptFunction } from "./names.ts";

const UNKNOWN = notReceived("javascript");

/** Generated code that is of no function, by enum v8_other. */
const OTHERS: ReadonlyMap<number, NamedFunction> = new Map([
  [V8_REGEXP, { runtime: "javascript", name: "(regular expression)", module: "" }],
  [V8_WASM, { runtime: "javascript", name: "(WebAssembly)", module: "" }],
]);

/** What is said of a frame in compiled code that may be of a function that was compiled into it. */
const MERGED = "compiled, and what V8 compiled into it counts as its own";

export class JavaScriptReader implements RuntimeReader {
  readonly #names = new InterpretedNames(INTERPRETER_V8, javascriptFunction);
  readonly #files = new InterpreterFiles(INTERPRETER_V8);
  readonly #tellsBodies: boolean;

  /** `tellsBodies`: frames say where they may be of a function that was compiled into theirs (Frame.body). */
  constructor(tellsBodies: boolean) {
    this.#tellsBodies = tellsBodies;
  }

  ingest(drained: Drained): void {
    this.#files.ingest(drained);
    this.#names.ingest(drained);
  }

  symbolize(frames: NewFrames, index: number): NamedFrame | undefined {
    if (frames.interpreter(index) !== INTERPRETER_V8) return undefined;
    const other =
      frames.interpretedKind(index) === V8_OTHER
        ? OTHERS.get(Number(frames.word(index)))
        : undefined;
    if (other) return { function: other };
    const named = this.#names.get(frames.word(index)) ?? UNKNOWN;
    if (this.#tellsBodies && frames.interpretedKind(index) === V8_MERGED)
      return { function: named, detail: { body: MERGED } };
    const line = frames.line(index);
    return line > 0 ? { function: named, detail: { line } } : { function: named };
  }

  /** Tells once of each engine that is refused, when samples hit such a one. */
  notices({ UnwindV8ErrVersion = 0 }: Readonly<Partial<Record<CounterName, number>>>): string[] {
    return UnwindV8ErrVersion === 0 ? [] : this.#files.takeWarnings();
  }
}
