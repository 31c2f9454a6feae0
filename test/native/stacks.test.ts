/** Which stacks and frames are one where those of the same functions are: made-up stacks. */
import { beforeAll, expect, test } from "vitest";
import { BUILD_MILLISECONDS, buildTools, checkedTool, run } from "./tools.ts";

beforeAll(buildTools, BUILD_MILLISECONDS);

test("functions of files are one in all processes, and what a process compiled is its own", () => {
  expect(run(checkedTool("stack_cases"), [])).toMatch(/^\d+ checks, 0 failed\n$/);
});
