/** The names of interpreted frames, by the strings that the kernel side sends once for each name. */
import { NAME_LATIN1 } from "../../build/abi.ts";
import type { Drained, InterpretedName, NamePart } from "../addon/drained.ts";
import type { NamedFunction } from "./reader.ts";

const CUT = "…";

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** The text of a string; one that is longer than what was sent ends in `…`. */
export function textOf({ encoding, length, bytes }: NamePart): string {
  const shown =
    encoding === NAME_LATIN1 ? Buffer.from(bytes).toString("latin1") : utf8.decode(bytes);
  return length > bytes.length ? shown + CUT : shown;
}

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
