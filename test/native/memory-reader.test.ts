/** Reading memory of processes, of which some never answer. */
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { root } from "../support/polytop.ts";
import { BUILD_MILLISECONDS, buildTools, run, tool } from "./tools.ts";

beforeAll(buildTools, BUILD_MILLISECONDS);

test.runIf(process.geteuid?.() === 0)("a page that never comes holds nobody up", () => {
  const said = run(tool("reader_cases"), [join(root, "dist/polytop-reader")]);
  expect(said).toMatch(/\d+ checks, 0 failed\n$/);
});
