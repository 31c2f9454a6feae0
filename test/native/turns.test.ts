/** Whose turn it is: threads that come before others for a while, jobs of several users. */
import { beforeAll, expect, test } from "vitest";
import { BUILD_MILLISECONDS, buildTools, checkedTool, run } from "./tools.ts";

beforeAll(buildTools, BUILD_MILLISECONDS);

test("a thread comes first for a third of a second of work, and what it starts does not", () => {
  expect(run(checkedTool("turn_cases"), [])).toMatch(/^\d+ checks, 0 failed\n$/);
});

test("jobs of several users are done in turn, those of root first", () => {
  expect(run(checkedTool("fair_cases"), [])).toMatch(/^\d+ checks, 0 failed\n$/);
});
