/** Which mappings of files are news: made-up events of the kernel. */
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { BUILD_MILLISECONDS, buildTools, run, TOOLS } from "./tools.ts";

beforeAll(buildTools, BUILD_MILLISECONDS);

test("only the first mapping of a file's code is news", () => {
  expect(run(join(TOOLS, "map-cases"), [])).toMatch(/^\d+ checks, 0 failed\n$/);
});
