/** What fuzzing kept, once more: each input within the limits of its harness, with memory and behaviour checked. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { BUILD_MILLISECONDS, checkedTool, run } from "../native/tools.ts";
import { root } from "../support/polytop.ts";
import { keptCorpora, unpack } from "../tools/fuzz/corpora.ts";
import { HARNESSES } from "../tools/fuzz/harnesses.ts";
import { TARGETS } from "../tools/fuzz/targets.ts";

beforeAll(() => {
  const make = ["make", "-s", "-j2", "-C", root, "build/tools/checked/replay"];
  run("flock", [join(root, "build"), ...make]);
}, BUILD_MILLISECONDS);

/** The files that are kept of a parser, in a folder for the time of `use`. */
function withInputs(name: string, use: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "polytop-replay-"));
  try {
    unpack(name, folder);
    use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("inputs are kept of each parser", () => {
  const names = [...HARNESSES, ...TARGETS].map(({ name }) => name);
  expect(keptCorpora().sort()).toEqual(names.sort());
});

test.each(HARNESSES.map(({ name }) => name))("%s", { timeout: 120_000 }, (name) => {
  withInputs(name, (folder) => {
    expect(run(checkedTool("replay"), [name, folder])).toMatch(/^[1-9]\d* inputs\n$/);
  });
});

test.each([...TARGETS])("$name", (target) => {
  withInputs(target.name, (folder) => {
    const files = readdirSync(folder);
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) target.tryInput(readFileSync(join(folder, file)));
  });
});
