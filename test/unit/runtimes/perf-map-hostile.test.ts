/** Long perf maps of several processes at once: what they cost in a refresh, and who keeps names. */
import { linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PerfMaps } from "../../../src/runtimes/jit/perf-map.ts";

const MEGABYTE = 1 << 20;
const HOGS = [1, 2, 3, 4, 5, 6];
const HONEST = 7;

/** Bytes that this process has read so far. */
const bytesRead = (): number =>
  Number(/^rchar: (\d+)/m.exec(readFileSync("/proc/self/io", "latin1"))?.[1]);

function mapOf(bytes: number): string {
  const lines: string[] = [];
  for (let at = 0, size = 0; size < bytes; at++) {
    const line = `${(0x10000 + at * 16).toString(16)} 10 function_number_${at}_${"y".repeat(36)}\n`;
    lines.push(line);
    size += line.length;
  }
  return lines.join("");
}

test("six maps of 30 MB cost little, and a small one keeps its names", { timeout: 60_000 }, () => {
  const proc = mkdtempSync(join(tmpdir(), "perf-map-"));
  try {
    const shared = join(proc, "shared");
    writeFileSync(shared, mapOf(30 * MEGABYTE));
    for (const pid of [...HOGS, HONEST]) {
      const folder = join(proc, `${pid}`, "root", "tmp");
      mkdirSync(folder, { recursive: true });
      const uid = process.geteuid?.() ?? 0;
      writeFileSync(join(proc, `${pid}`, "status"), `Uid:\t${uid}\t${uid}\nNSpid:\t${pid}\n`);
      const path = join(folder, `perf-${pid}.map`);
      if (pid === HONEST) writeFileSync(path, mapOf(2 * MEGABYTE));
      else linkSync(shared, path);
    }
    let clock = 0;
    const maps = new PerfMaps({ proc, now: () => clock });
    const address = BigInt(0x10000 + 16 * 1000);
    const costs: number[] = [];
    let named = 0;
    for (let refresh = 0; refresh < 120; refresh++) {
      clock += 1000;
      const before = bytesRead();
      for (const pid of HOGS) maps.resolve(pid, address);
      // What was not read yet is asked for again when it is.
      for (const pid of HOGS) maps.takeChanges(pid);
      if (maps.resolve(HONEST, address).whyUnnamed === undefined) named++;
      costs.push(bytesRead() - before);
      expect(maps.memoryBytes).toBeLessThan(100 * MEGABYTE);
    }
    expect(Math.max(...costs)).toBeLessThan(10 * MEGABYTE);
    // Each is read once, and again after rests that grow.
    const total = costs.reduce((sum, cost) => sum + cost, 0);
    expect(total).toBeLessThan(3 * HOGS.length * 30 * MEGABYTE);
    expect(named).toBeGreaterThan(110);
    expect("name" in maps.resolve(HONEST, address)).toBe(true);
  } finally {
    rmSync(proc, { recursive: true, force: true });
  }
});
