/**
 * What the terminal sends, as Ink reads it. Ink tells no function keys apart and knows nothing of answers about colours:
 * here the keys become characters of their own, and the answers are taken out.
 */

/** F1 and F10 as Ink is to read them: control characters that no keyboard has. */
const F1 = "\u0091";
const F10 = "\u009a";

/** The names of those characters. */
export const FUNCTION_KEYS: Readonly<Record<string, string>> = { [F1]: "f1", [F10]: "f10" };

/** What terminals send for them: F1 as xterm, rxvt and the Linux console do. */
const SEQUENCES: readonly (readonly [sequence: string, key: string])[] = [
  ["\u001bOP", F1],
  ["\u001b[11~", F1],
  ["\u001b[[A", F1],
  ["\u001b[21~", F10],
];

/** The answer to OSC 11, see "Operating System Commands" of xterm's ctlseqs: two or four digits for each colour. */
const BACKGROUND =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: terminals answer with them.
  /\u001b\]11;rgba?:([0-9a-fA-F]{2,4})\/([0-9a-fA-F]{2,4})\/([0-9a-fA-F]{2,4})[^\u0007\u001b]*(?:\u0007|\u001b\\)/g;

/** The beginning of an answer whose end is still to come: a lone Esc is one too, where an answer is waited for. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals answer with them.
const BEGUN = /\u001b(?:\](?:1(?:1(?:;[^\u0007\u001b]{0,40}\u001b?)?)?)?)?$/;

/** A terminal that knows the question answers within so many milliseconds. */
const ANSWER_MS = 1000;

/** So long somebody who leaves waits for it, ms. */
const LATE_MS = 150;

/** The parts of a colour, 0 to 1. */
export type Rgb = readonly [red: number, green: number, blue: number];

const part = (digits: string): number => Number.parseInt(digits.slice(0, 2), 16) / 255;

/** Takes what is no key for Ink out of a piece of input; keeps the beginning of what goes on in the next one. */
export class InputFilter {
  readonly #background: (colour: Rgb) => void;
  #kept = "";
  #until = 0;
  #answered: () => void = () => {};

  constructor(background: (colour: Rgb) => void) {
    this.#background = background;
  }

  /** An answer is on its way from now on. */
  expect(): void {
    this.#until = performance.now() + ANSWER_MS;
  }

  /** Resolves when no answer is on its way: one that did not come soon will not. */
  async answered(): Promise<void> {
    const left = Math.min(this.#until - performance.now(), LATE_MS);
    if (left <= 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#answered = resolve;
    const timer = setTimeout(resolve, left);
    await promise;
    clearTimeout(timer);
  }

  take(piece: string): string {
    const text = (this.#kept + piece).replace(BACKGROUND, (_, red, green, blue) => {
      this.#until = 0;
      this.#answered();
      this.#background([part(red), part(green), part(blue)]);
      return "";
    });
    this.#kept = performance.now() < this.#until ? (BEGUN.exec(text)?.[0] ?? "") : "";
    const whole = text.slice(0, text.length - this.#kept.length);
    return SEQUENCES.reduce((all, [sequence, key]) => all.replaceAll(sequence, key), whole);
  }
}

/** A terminal's input that goes through a filter. */
export function makeInputStream(stdin: NodeJS.ReadStream, filter: InputFilter): NodeJS.ReadStream {
  const read = (...args: Parameters<NodeJS.ReadStream["read"]>): unknown => {
    const chunk: unknown = stdin.read(...args);
    return chunk === null ? null : filter.take(String(chunk));
  };
  return new Proxy(stdin, {
    get: (target, name) => {
      if (name === "read") return read;
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
