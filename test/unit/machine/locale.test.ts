import { expect, test } from "vitest";
import { speaksUtf8 } from "../../../src/machine/locale.ts";

test.each([
  [{ LANG: "C.UTF-8" }, true],
  [{ LANG: "de_DE" }, false],
  [{ LANG: "C.UTF-8", LC_ALL: "C" }, false],
  [{ LANG: "C", LC_CTYPE: "en_US.utf8" }, true],
  [{ LANG: "C.UTF-8", TERM: "xterm-256color" }, true],
  // Its fonts lack what the locale promises.
  [{ LANG: "C.UTF-8", TERM: "linux" }, false],
  [{}, false],
])("%j", (environment, speaks) => {
  expect(speaksUtf8(environment)).toBe(speaks);
});
