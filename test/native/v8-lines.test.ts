/** Tables of positions and lines of V8: made up with known answers, and noise. */
import { beforeAll, expect, test } from "vitest";
import { BUILD_MILLISECONDS, buildTools, checkedTool, run } from "./tools.ts";

beforeAll(buildTools, BUILD_MILLISECONDS);

test("made-up tables give the positions and lines they must, and noise does no harm", () => {
  expect(run(checkedTool("v8_cases"), [])).toMatch(/^\d+ checks, 0 failed\n$/);
});
