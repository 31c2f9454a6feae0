/** Python frames between native ones. */
import { describe, expect, test } from "vitest";
import { MergedFrames } from "../../../src/runtimes/merged-frames.ts";
import {
  interleave,
  type NativeFrame,
  type PythonWord,
} from "../../../src/runtimes/python/interleave.ts";

/** Native frames by letters: E an evaluation, i the interpreter's other code, . a library, ? the reason of an end. */
function native(letters: string): NativeFrame[] {
  const roles = { E: "evaluation", i: "interpreter", ".": "other", "?": "stop" } as const;
  return [...letters].map((it, index) => ({
    number: 100 + 2 * index,
    role: roles[it as keyof typeof roles],
  }));
}

/** Words of Python: `f1` a frame, `c1` one of its own, `@3` an evaluation at index 3, `@` at none, `p3` a place, `!1` a stop. */
function python(text: string): PythonWord[] {
  const roles = { f: "frame", c: "call", "@": "evaluation", p: "place", "!": "stop" } as const;
  return text.split(" ").flatMap((word) => {
    const role = roles[word[0] as keyof typeof roles];
    const number = word.slice(1);
    const isPlace = role === "evaluation" || role === "place";
    const place = isPlace && number !== "" ? Number(number) + 1 : 0;
    return [{ number: isPlace ? 0 : Number(number), role, place }];
  });
}

/** The merged frames: letters of native ones, small and in brackets where they are folded, and numbers of the others. */
function merged(letters: string, words: string, truncated = false): string {
  const [frames, own] = [native(letters), python(words)];
  const into = new MergedFrames(frames.length + own.length);
  const unpaired = interleave(frames, own, into, truncated);
  const text = Array.from(into.copy(), (number) => {
    if (number < 100) return String(number);
    const letter = letters[(number - 100) >> 1] ?? "";
    return number % 2 ? `(${letter})` : letter;
  }).join("");
  return unpaired ? `${text} unpaired` : text;
}

describe("evaluations whose place is known", () => {
  test("frames stand above the native frame that executes them", () => {
    expect(merged(".iEiE.", "f1 f2 @2 f3 @4")).toBe(".(i)12(E)(i)3(E).");
  });
  test("an evaluation without frames shows nothing", () => {
    expect(merged("EiE.", "f1 @2")).toBe("(E)(i)1(E).");
  });
  test("a stack that was switched leaves evaluations of others below", () => {
    expect(merged("E.EE", "f1 @0")).toBe("1(E).(E)(E)");
  });
  test("the walk that ended early says why at the outer end", () => {
    expect(merged("E.", "f1 @0 f2 !9")).toBe("1(E).29");
  });
});

describe("evaluations that are counted", () => {
  test("each frame is one: from the outermost inwards", () => {
    expect(merged("EiEi", "c1 c2")).toBe("1(E)(i)2(E)(i)");
  });
  test("the innermost evaluation may have no frame", () => {
    expect(merged("EEiE", "c1 c2")).toBe("(E)1(E)(i)2(E)");
  });
  test("more that are without a frame are not paired", () => {
    expect(merged("EEE.", "c1")).toBe("1(E)(E)(E). unpaired");
  });
  test("one that was not found is between its neighbours", () => {
    expect(merged("EiEiE", "f1 @0 f2 @ f3 @4")).toBe("1(E)(i)2(E)(i)3(E)");
  });
  test("places that come apart belong to the outermost frames", () => {
    expect(merged("EE.E", "c1 c2 c3 p1 p3")).toBe("1(E)2(E).3(E)");
  });
});

describe("native walks that did not reach the end", () => {
  test("from the innermost outwards, and the rest outside", () => {
    expect(merged("EE?", "c1 c2 c3")).toBe("1(E)2(E)3?");
    expect(merged("EE", "c1 c2 c3", true)).toBe("1(E)2(E)3");
  });
});

test("without Python frames nothing is folded", () => {
  expect(merged("E.", "!9")).toBe("E.9");
});
