/** Threads of processes, those of one name together: pools have hundreds. */

import { BITS, bitsToRuntimes } from "../tick/runtimes.ts";
import { countsOf, type Task, type Tick } from "../tick/tick.ts";
import type { AggregateOptions, ProcessRow } from "./aggregate.ts";

/** Threads of one name in a process. */
export interface ThreadRow extends ProcessRow {
  readonly thread: string;
  readonly tids: readonly number[];
}

interface Sums {
  readonly task: Task;
  readonly tids: Set<number>;
  samples: number;
  complete: number;
  bits: number;
}

/** Rows by pid, most samples first. */
export function threadRows(
  ticks: readonly Tick[],
  options: AggregateOptions,
): Map<number, ThreadRow[]> {
  const { filter, parents, kernel, nativeFrames } = options;
  const groups = new Map<string, Sums>();
  for (const { stack, task, count } of countsOf(ticks)) {
    if (count <= 0 || (filter?.hasTaskTerms && !filter.matchesTask(task, parents))) continue;
    const key = `${task.pid} ${task.startTime} ${task.thread}`;
    let sums = groups.get(key);
    if (!sums) {
      sums = { task, tids: new Set(), samples: 0, complete: 0, bits: 0 };
      groups.set(key, sums);
    }
    const leaf = stack.frames.find(({ function: info, folded }) =>
      info.runtime === "kernel" ? kernel : folded !== true || nativeFrames,
    );
    sums.tids.add(task.tid);
    sums.samples += count;
    if (stack.outcome === "complete") sums.complete += count;
    sums.bits |= leaf ? BITS[leaf.function.runtime] : 0;
  }
  const rows = new Map<number, ThreadRow[]>();
  for (const { task, tids, samples, complete, bits } of groups.values()) {
    const { pid, comm, uid, parentPid, startTime, cgroup, thread } = task;
    const runtimes = bitsToRuntimes(bits);
    const process = { pid, comm, uid, parentPid, startTime, cgroup, samples, complete, runtimes };
    const siblings = rows.get(pid);
    const row: ThreadRow = { ...process, thread, tids: [...tids] };
    if (siblings) siblings.push(row);
    else rows.set(pid, [row]);
  }
  for (const siblings of rows.values()) {
    siblings.sort((a, b) => b.samples - a.samples || (a.thread < b.thread ? -1 : 1));
  }
  return rows;
}
