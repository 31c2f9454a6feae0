/** Threads of processes, those of one name together: pools have hundreds. */
import { BITS, bitsToRuntimes } from "../tick/runtimes.ts";
import type { Task, Tick } from "../tick/tick.ts";
import { type ProcessRow, processOf } from "./aggregate.ts";
import { type Choice, selectionOf } from "./selection.ts";

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
  guessed: number;
  bits: number;
}

/** Rows by pid, most samples first. */
export function threadRows(ticks: readonly Tick[], choice: Choice): Map<number, ThreadRow[]> {
  const groups = new Map<string, Sums>();
  for (const { shown, stack, task, weight } of selectionOf(choice).counts(ticks)) {
    const key = `${task.pid} ${task.startTime} ${task.thread}`;
    let sums = groups.get(key);
    if (!sums) {
      sums = { task, tids: new Set(), samples: 0, complete: 0, guessed: 0, bits: 0 };
      groups.set(key, sums);
    }
    sums.tids.add(task.tid);
    sums.samples += weight;
    const outcome = shown.store.outcomeOf(stack);
    if (outcome === "complete") sums.complete += weight;
    if (outcome === "guessed") sums.guessed += weight;
    sums.bits |= BITS[shown.store.functionOf(shown.leaf(stack)).runtime];
  }
  const rows = new Map<number, ThreadRow[]>();
  for (const { task, tids, samples, complete, guessed, bits } of groups.values()) {
    const { thread } = task;
    const counted = { samples, complete, guessed, runtimes: bitsToRuntimes(bits) };
    const row: ThreadRow = { ...processOf(task), ...counted, thread, tids: [...tids] };
    const siblings = rows.get(task.pid);
    if (siblings) siblings.push(row);
    else rows.set(task.pid, [row]);
  }
  for (const siblings of rows.values()) {
    siblings.sort((a, b) => b.samples - a.samples || (a.thread < b.thread ? -1 : 1));
  }
  return rows;
}
