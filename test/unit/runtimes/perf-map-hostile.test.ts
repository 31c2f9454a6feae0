/** Long perf maps of several processes at once: what they cost in a refresh, and who keeps names. */
import { linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { atOnce } from "../../../src/machine/steps.ts";
import { PerfMaps } from "../../../src/runtimes/jit/perf-map.ts";
import { ReadBudget } from "../../../src/runtimes/jit/read-budget.ts";
import { UserTurns } from "../../../src/runtimes/jit/user-turns.ts";

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

/** Puts a process into a made-up /proc, whose map is another name of that file. */
function addProcess(proc: string, pid: number, user: number, map: string): void {
  const folder = join(proc, `${pid}`, "root", "tmp");
  mkdirSync(folder, { recursive: true });
  const status = `Uid:\t${user}\t${process.geteuid?.() ?? 0}\nNSpid:\t${pid}\n`;
  writeFileSync(join(proc, `${pid}`, "status"), status);
  linkSync(map, join(folder, `perf-${pid}.map`));
}

test("six maps of 30 MB cost little, and a small one keeps its names", { timeout: 60_000 }, () => {
  const proc = mkdtempSync(join(tmpdir(), "perf-map-"));
  try {
    const shared = join(proc, "shared");
    writeFileSync(shared, mapOf(30 * MEGABYTE));
    const short = join(proc, "short");
    writeFileSync(short, mapOf(2 * MEGABYTE));
    for (const pid of HOGS) addProcess(proc, pid, 0, shared);
    addProcess(proc, HONEST, 0, short);
    let clock = 0;
    const maps = new PerfMaps({ proc, now: () => clock });
    const address = BigInt(0x10000 + 16 * 1000);
    const costs: number[] = [];
    let named = 0;
    for (let refresh = 0; refresh < 120; refresh++) {
      clock += 1000;
      const before = bytesRead();
      // Once for new frames, and again for what was named before.
      atOnce(maps.reading([...HOGS, HONEST]));
      atOnce(maps.reading([...HOGS, HONEST]));
      for (const pid of HOGS) maps.takeChanges(pid);
      if (maps.find(HONEST, address).whyUnnamed === undefined) named++;
      costs.push(bytesRead() - before);
      expect(maps.memoryBytes).toBeLessThan(100 * MEGABYTE);
    }
    expect(Math.max(...costs)).toBeLessThan(10 * MEGABYTE);
    // Each is read once, and again after rests that grow.
    const total = costs.reduce((sum, cost) => sum + cost, 0);
    expect(total).toBeLessThan(3 * HOGS.length * 30 * MEGABYTE);
    expect(named).toBeGreaterThan(110);
    expect("name" in maps.find(HONEST, address)).toBe(true);
  } finally {
    rmSync(proc, { recursive: true, force: true });
  }
});

test("ten users who write much cost a limited time, and keep no other user's names away", () => {
  const proc = mkdtempSync(join(tmpdir(), "perf-map-"));
  try {
    const [long, short] = [join(proc, "long"), join(proc, "short")];
    writeFileSync(long, mapOf(12 * MEGABYTE));
    writeFileSync(short, mapOf(MEGABYTE / 2));
    const hogs = Array.from({ length: 60 }, (_, at) => 100 + at);
    for (const pid of hogs) addProcess(proc, pid, 64_001 + (pid % 10), long);
    addProcess(proc, 7, 2000, short);
    addProcess(proc, 8, 0, long);
    let clock = 0;
    let from = 0;
    // 100 MB are read in a second.
    const now = (): number => clock + (bytesRead() - from) / 100_000;
    const maps = new PerfMaps({ proc, now });
    const address = BigInt(0x10000 + 16 * 1000);
    const isNamed = (pid: number): boolean => maps.find(pid, address).whyUnnamed === undefined;
    const times: number[] = [];
    const named = { honest: 0, root: 0, hogs: 0 };
    const told = new Set<string>();
    for (let refresh = 0; refresh < 30; refresh++) {
      clock += 1000;
      from = bytesRead();
      atOnce(maps.reading([8, 7, ...hogs]));
      times.push(now() - clock);
      named.honest += Number(isNamed(7));
      named.root += Number(isNamed(8));
      named.hogs += hogs.filter(isNamed).length;
      for (const notice of maps.notices()) told.add(notice);
    }
    expect(Math.max(...times)).toBeLessThan(100);
    expect(times.reduce((sum, it) => sum + it)).toBeLessThan(30 * 50);
    expect(named.honest).toBeGreaterThan(25);
    expect(named.root).toBeGreaterThan(25);
    expect(named.hogs).toBeLessThan(60);
    expect([...told].some((it) => /user 640\d\d/.test(it))).toBe(true);
    expect([...told].some((it) => /user 2000\b/.test(it))).toBe(false);
  } finally {
    rmSync(proc, { recursive: true, force: true });
  }
});

test("turns: root's first, then whoever took least, the smallest of each first", () => {
  const turns = new UserTurns<string>();
  for (const size of [3, 1, 2]) {
    turns.push(1, size, `one ${size}`);
    turns.push(2, size, `two ${size}`);
    turns.push(0, size, `root ${size}`);
  }
  const order: string[] = [];
  for (let next = turns.pop(); next; next = turns.pop()) {
    order.push(next);
    if (next.startsWith("one")) turns.charge(1, 1);
    if (next.startsWith("two")) turns.charge(2, 2);
  }
  expect(order.slice(0, 3)).toEqual(["root 1", "root 2", "root 3"]);
  expect(order.slice(3)).toEqual(["one 1", "two 1", "one 2", "one 3", "two 2", "two 3"]);
  // Whoever did not ask has saved nothing.
  turns.push(1, 0, "one");
  turns.push(3, 0, "three");
  expect([turns.pop(), turns.pop(), turns.pop()]).toEqual(["one", "three", undefined]);
});

test("a budget: so much of a refresh, less in the long run, and debts are forgiven but for a part", () => {
  const limits = { bytes: 100, milliseconds: 80, millisecondsOfSecond: 30, savedMilliseconds: 200 };
  const budget = new ReadBudget(limits, 900);
  const spent: number[] = [];
  for (let second = 0; second < 20; second++) {
    budget.renew(second * 1000);
    let taken = 0;
    for (; budget.isLeft; taken += 10) budget.spend(1, 0, 10);
    spent.push(taken);
  }
  expect(spent.slice(0, 3)).toEqual([80, 80, 80]);
  expect(spent.slice(10).reduce((sum, it) => sum + it)).toBeLessThanOrEqual(310);
  budget.renew(20_000);
  budget.spend(1, 0, 60_000);
  budget.renew(22_000);
  expect(budget.isLeft).toBe(true);
  budget.spend(2, 101, 1);
  expect(budget.isLeft).toBe(false);
  expect(budget.greatest).toBe(2);
});
