/** Where JavaScript frames go among native ones. */
import { expect, test } from "vitest";
import { interleave } from "../../../src/runtimes/javascript/interleave.ts";

const plain = (number: number) => ({ number, evaluates: false });
const evaluating = (number: number) => ({ number, evaluates: true });
const place = (at: number) => ({ number: 99, place: at });

/** As text: native frames by number, those that are hidden in brackets, JavaScript frames with a letter. */
const shown = (...lists: Parameters<typeof interleave>): string =>
  interleave(...lists)
    .map(({ number, native, folded }) =>
      native ? (folded ? `(${number})` : `${number}`) : `j${number}`,
    )
    .join(" ");

test("frames go before the native frame that is said", () => {
  const native = [plain(1), plain(2), plain(3)];
  const words = [{ number: 7 }, place(1), { number: 8 }, { number: 9 }, place(2)];
  expect(shown(native, words)).toBe("1 j7 2 j8 j9 3");
});

test("code of the interpreter is hidden, the function that it carries out comes after it", () => {
  const native = [evaluating(1), evaluating(2), plain(3)];
  expect(shown(native, [{ number: 7 }, place(1), { number: 8 }, place(2)])).toBe("(1) j7 (2) j8 3");
});

test("frames of generated code stand alone", () => {
  expect(shown([], [{ number: 7 }, { number: 8 }, place(0)])).toBe("j7 j8");
  expect(shown([plain(1)], [{ number: 7 }, place(0)])).toBe("j7 1");
});

test("places that cannot be lose no frame", () => {
  expect(shown([plain(1)], [{ number: 7 }, place(900)])).toBe("1 j7");
  expect(shown([plain(1)], [{ number: 7 }, place(1), { number: 8 }, place(0)])).toBe("1 j7 j8");
  expect(shown([plain(1)], [{ number: 7 }])).toBe("1 j7");
});
