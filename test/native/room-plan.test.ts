/** Which unwind tables go when room runs out: made-up files at made-up times. */
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { BUILD_MILLISECONDS, buildTools, run, TOOLS } from "./tools.ts";

beforeAll(buildTools, BUILD_MILLISECONDS);

test("nothing in use goes, and nothing is built twice within half a minute", () => {
  expect(run(join(TOOLS, "room-cases"), [])).toMatch(/^\d+ checks, 0 failed\n$/);
});
