import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { root } from "../../support/polytop.ts";

/** Fills a heap with 50 MB, lets go of all but one object in twenty, and compacts it; tells its size before and after. */
const program = (compacts: string): string => `
import { getHeapStatistics } from "node:v8";
import { setImmediate } from "node:timers/promises";
import { compact, compactSoon } from ${JSON.stringify(join(root, "src/machine/engine.ts"))};
const megabytes = () => Math.round(getHeapStatistics().total_physical_size / 1e6);
const all = Array.from({ length: 400_000 }, (_, at) => ({ at, more: [at, at + 1, at + 2] }));
const full = megabytes();
globalThis.kept = all.filter((_, at) => at % 20 === 0);
all.length = 0;
${compacts}
console.log(JSON.stringify([full, megabytes()]));
`;

/** Megabytes before and after. */
function heapsOf(compacts: string): [full: number, compacted: number] {
  const args = ["--max-semi-space-size=4", "--input-type=module", "-e", program(compacts)];
  const output = execFileSync(process.execPath, args, { encoding: "utf8" });
  const [full = 0, compacted = 0] = JSON.parse(output) as number[];
  return [full, compacted];
}

describe("the heap", () => {
  test("gives back what lies between the objects that are left", () => {
    const [full, compacted] = heapsOf("compact();");
    expect(full).toBeGreaterThan(50);
    expect(compacted).toBeLessThan(full / 2);
  });

  test("does so behind the turn in which much was forgotten", () => {
    const [full, compacted] = heapsOf("compactSoon(); await setImmediate();");
    expect(compacted).toBeLessThan(full / 2);
  });
});
