/** Which processes are there: those that still are what was asked for, main thread or not. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TargetWatch } from "../../../src/collector/target-watch.ts";
import { startOfProcess } from "../../../src/machine/process-start.ts";

let proc: string;
beforeEach(() => {
  proc = mkdtempSync(join(tmpdir(), "polytop-proc-"));
});
afterEach(() => rmSync(proc, { recursive: true }));

/** A process as proc_pid_stat(5) has it. */
function process(pid: number, { state = "R", threads = 1, start = 700 } = {}): void {
  const fields = Array.from({ length: 50 }, () => "0");
  fields[0] = state;
  fields[17] = String(threads);
  fields[19] = String(start);
  mkdirSync(join(proc, String(pid)), { recursive: true });
  writeFileSync(join(proc, String(pid), "stat"), `${pid} (a ) R 1 b) ${fields.join(" ")}\n`);
}

const startOf = (pid: number): string | undefined => startOfProcess(pid, proc);

test("a zombie is no process any more, unless other threads than its main one run", () => {
  process(1);
  process(2, { state: "Z" });
  process(3, { state: "Z", threads: 2 });
  expect([1, 2, 3, 4].map(startOf)).toEqual(["700", undefined, "700", undefined]);
});

test("one that has exited is told of, whether it did before or while it was watched", () => {
  process(1);
  process(2, { state: "Z" });
  process(3);
  const watch = new TargetWatch([1, 2, 3], startOf);
  expect(watch.check()).toEqual({ changed: false, notices: ["pid 2 has exited"] });
  expect(watch.sampled()).toEqual([1, 3]);
  process(3, { start: 900 });
  const notices = ["pid 2 has exited", "pid 3 has exited; another process has its number"];
  expect(watch.check()).toEqual({ changed: true, notices });
  expect(watch.sampled()).toEqual([1]);
  watch.set([1]);
  expect(watch.check()).toEqual({ changed: false, notices: [] });
});
