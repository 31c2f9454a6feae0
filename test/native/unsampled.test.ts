/** How many samples stand for softirqs that are not sampled: made-up accounts of CPU time. */
import { beforeAll, expect, test } from "vitest";
import { BUILD_MILLISECONDS, buildTools, checkedTool, run } from "./tools.ts";

beforeAll(buildTools, BUILD_MILLISECONDS);

test("softirqs of idle CPUs are counted only where they are not sampled", () => {
  expect(run(checkedTool("unsampled_cases"), [])).toMatch(/^\d+ checks, 0 failed\n$/);
});
