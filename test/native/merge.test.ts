/** Where the frames of interpreters stand among native ones: made-up stacks. */
import { beforeAll, expect, test } from "vitest";
import { BUILD_MILLISECONDS, buildTools, checkedTool, run } from "./tools.ts";

beforeAll(buildTools, BUILD_MILLISECONDS);

test("frames of Perl and Python find their places, also beside each other", () => {
  expect(run(checkedTool("merge_cases"), [])).toMatch(/^\d+ checks, 0 failed\n$/);
});
