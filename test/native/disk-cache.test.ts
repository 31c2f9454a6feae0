/** What is kept on disk from run to run: read as it was written, or not at all. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { BUILD_MILLISECONDS, buildTools, checkedTool, run } from "./tools.ts";

beforeAll(buildTools, BUILD_MILLISECONDS);

test("a damaged entry, and one that others could have changed, is refused", () => {
  const folder = mkdtempSync(join(tmpdir(), "polytop-cache-"));
  try {
    const printed = run(checkedTool("cache_cases"), [folder, "/usr/bin/perl"]);
    expect(printed).toMatch(/^\d+ checks, 0 failed\n$/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
