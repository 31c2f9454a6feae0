/** Tables of lines and offsets of Python: made up with known answers, and noise. */
import { beforeAll, expect, test } from "vitest";
import { BUILD_MILLISECONDS, buildTools, checkedTool, run } from "./tools.ts";

beforeAll(buildTools, BUILD_MILLISECONDS);

test("made-up tables give the lines they must, and noise gives none that cannot be", () => {
  expect(run(checkedTool("python_cases"), [])).toMatch(/^\d+ checks, 0 failed\n$/);
});
