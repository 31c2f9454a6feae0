/** Lines of the ops of Perl statements: made-up op trees, kept from one refresh to the next. */
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { BUILD_MILLISECONDS, buildTools, run, TOOLS } from "./tools.ts";

beforeAll(buildTools, BUILD_MILLISECONDS);

test("made-up op trees give the lines they must, as long as they are there", () => {
  expect(run(join(TOOLS, "perl-cases"), [])).toMatch(/^\d+ checks, 0 failed\n$/);
});
