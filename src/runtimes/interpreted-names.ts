/** The names of interpreted frames, by the strings that the kernel side sends once for each name. */
import { NAME_LATIN1, NAME_UCS2, NAME_UCS4 } from "../../build/abi.ts";
import type { Drained, InterpretedName, NamePart } from "../addon/drained.ts";
import type { Runtime } from "../tick/runtimes.ts";
import type { NamedFunction } from "./reader.ts";

const CUT = "…";
const LAST_CODE_POINT = 0x10ffff;
const REPLACEMENT = 0xfffd;

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** The text of a string; one that is longer than what was sent ends in `…`. */
export function textOf({ encoding, length, bytes }: NamePart): string {
  const shown = decode(encoding, Buffer.from(bytes));
  return length > bytes.length ? shown + CUT : shown;
}

function decode(encoding: number, bytes: Buffer): string {
  if (encoding === NAME_LATIN1) return bytes.toString("latin1");
  if (encoding === NAME_UCS2) return bytes.toString("utf16le");
  if (encoding === NAME_UCS4) return decodeUcs4(bytes);
  return utf8.decode(bytes);
}

function decodeUcs4(bytes: Buffer): string {
  let text = "";
  for (let at = 0; at + 4 <= bytes.length; at += 4) {
    const point = bytes.readUInt32LE(at);
    text += String.fromCodePoint(point > LAST_CODE_POINT ? REPLACEMENT : point);
  }
  return text;
}

/** What stands for a function whose strings never came; `what` its runtime calls a function. */
export const notReceived = (runtime: Runtime, what = "function"): NamedFunction => ({
  runtime,
  name: `[${runtime}: name not received]`,
  module: "",
  whyUnnamed: `the strings of this ${what} were lost on their way from the kernel`,
});

/** The functions of one interpreter, by the names of their frames. */
export class InterpretedNames {
  readonly #interpreter: number;
  readonly #compose: (name: InterpretedName) => NamedFunction;
  #names = new Map<bigint, NamedFunction>();
  #olderNames = new Map<bigint, NamedFunction>();

  /** `interpreter`: one of enum interpreter_kind; `compose` makes a function of the strings. */
  constructor(interpreter: number, compose: (name: InterpretedName) => NamedFunction) {
    this.#interpreter = interpreter;
    this.#compose = compose;
  }

  ingest({ names, renewed }: Pick<Drained, "names" | "renewed">): void {
    // The kernel side names everything anew: what is older than the last time is not referred to any more.
    if (renewed) {
      this.#olderNames = this.#names;
      this.#names = new Map();
    }
    for (const name of names) {
      if (name.interpreter === this.#interpreter) this.#names.set(name.name, this.#compose(name));
    }
  }

  /** Finds the function of a frame (interpreted_frame.name); undefined if its strings never came. */
  get(name: bigint): NamedFunction | undefined {
    return this.#names.get(name) ?? this.#olderNames.get(name);
  }
}
