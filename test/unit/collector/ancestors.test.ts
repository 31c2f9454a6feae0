/** Processes above those that were sampled, as far as /proc knows of them. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Ancestors } from "../../../src/collector/ancestors.ts";
import { byProcess } from "../../../src/model/by-process.ts";
import { selectionOf } from "../../../src/model/selection.ts";
import { TickDecoder } from "../../../src/recording/decode.ts";
import { TickAssembler } from "../../../src/recording/delta.ts";
import { TickEncoder } from "../../../src/recording/encode.ts";
import { VERSION } from "../../../src/recording/format.ts";
import type { Tick } from "../../../src/tick/tick.ts";
import { TickWriter } from "../../../src/tick/tick-writer.ts";
import { filterOf, makeTick, task } from "../../support/ticks.ts";

let proc: string;
beforeEach(() => {
  proc = mkdtempSync(join(tmpdir(), "polytop-proc-"));
});
afterEach(() => rmSync(proc, { recursive: true }));

/** A process as /proc has it. */
function process(pid: number, parent: number, comm = "a ) R 9 b"): void {
  const fields = Array.from({ length: 50 }, () => "0");
  [fields[1], fields[19]] = [String(parent), "7"];
  mkdirSync(join(proc, String(pid)), { recursive: true });
  writeFileSync(
    join(proc, String(pid), "stat"),
    `${pid} (${comm}) S ${fields.slice(1).join(" ")}\n`,
  );
  writeFileSync(join(proc, String(pid), "comm"), `${comm}\n`);
}

const { counts: _, store: __, ...header } = makeTick([]);

/** A refresh in which only a compiler was sampled. */
function sampled(writer: TickWriter, ancestors: Ancestors, now = 0): Tick {
  const child = task(60, "cc1", { parentPid: 50 });
  writer.count(writer.stack([], 0), writer.task(child), 3);
  ancestors.enterAbove([child], now);
  return writer.take(header);
}

/** The pids of the processes that a filter chooses. */
const chosen = (tick: Tick, filter: string): number[] =>
  byProcess(
    [tick],
    selectionOf({ filter: filterOf(filter), kernel: true, nativeFrames: false }),
  ).map(({ task: { pid } }) => pid);

/** What a replay of a refresh has. */
function replayed(tick: Tick): Tick {
  const encoder = new TickEncoder();
  encoder.add(tick);
  const { bytes, isRenewed } = encoder.take();
  const [delta] = new TickDecoder(VERSION).chunk(bytes, isRenewed);
  if (!delta) throw new Error("no refresh");
  return new TickAssembler().assemble(delta);
}

test("a filter knows families of processes that were never sampled, in a replay too", () => {
  process(50, 40);
  process(40, 1, "make");
  const writer = new TickWriter();
  const tick = sampled(writer, new Ancestors(writer, proc));
  for (const one of [tick, replayed(tick)]) {
    expect(chosen(one, "tree:40")).toEqual([60]);
    expect(chosen(one, "tree:1")).toEqual([60]);
    expect(chosen(one, "!tree:50")).toEqual([]);
    expect(chosen(one, "tree:41")).toEqual([]);
  }
  expect(tick.store.tasks.map(({ pid, comm }) => [pid, comm])).toEqual([
    [60, "cc1"],
    [50, "a ) R 9 b"],
    [40, "make"],
  ]);
});

test("a process is looked at once in a while, and rings and what is gone end the way up", () => {
  process(50, 40);
  process(40, 50);
  const writer = new TickWriter();
  const ancestors = new Ancestors(writer, proc);
  sampled(writer, ancestors);
  process(50, 30);
  const parents = (now: number): number[] =>
    sampled(writer, ancestors, now).store.tasks.map(({ parentPid }) => parentPid);
  expect(parents(9)).toEqual([50, 40, 50]);
  // The pid is another process by now.
  expect(parents(11)).toEqual([50, 40, 50, 30]);
});
