/** Files that lie about how much there is: what reading them may take. */
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { root } from "../support/polytop.ts";
import { BUILD_MILLISECONDS, buildTools, checkedTool, run, tool } from "./tools.ts";

beforeAll(buildTools, BUILD_MILLISECONDS);

test("no file takes more memory and time than its size allows", { timeout: 120_000 }, () => {
  expect(run(tool("hostile_cases"), [])).toMatch(/\d+ files, 0 failed\n$/);
});

test("no file takes the rules of others, and rules go with their files", () => {
  expect(run(checkedTool("rule_cases"), [])).toMatch(/^\d+ checks, 0 failed\n$/);
});

test("symbols of all files together are kept below a limit", () => {
  expect(run(checkedTool("symbol_room_cases"), [join(root, "dist/polytop-parser")])).toMatch(
    /^\d+ checks, 0 failed\n$/,
  );
});
