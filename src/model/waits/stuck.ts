/** Threads that will not go on by themselves, in words: cycles of lock owners, and waits that no signal ends. */
import type { Store } from "../../tick/store.ts";
import type { Tick } from "../../tick/tick.ts";
import { isUninterruptible, type LongWait, reasonOf, type Waiting } from "../../tick/waits.ts";
import { selectionOf } from "../selection.ts";

/** A wait in state D is told of once it has lasted this long, and again when it has lasted much longer. */
const TOLD_SECONDS: readonly (readonly [seconds: number, text: string])[] = [
  [3600, "an hour"],
  [600, "10 min"],
  [60, "1 min"],
  [10, "10 s"],
];

/**
 * One visit of all threads takes less. Threads of a ring that all waited before it began cannot have passed a lock on
 * while it was going on: the ring is one, and not made of two moments.
 */
const VISIT_SECONDS = 0.1;

/**
 * Threads that wait for each other in a ring, each ring once, from its lowest number on. Processes hold file locks, so
 * that these count where the process has no other thread which could give it back: `alone` are such processes.
 */
export function deadlocks(
  store: Pick<Store, "tasks" | "waitOf">,
  waits: readonly LongWait[],
  alone: ReadonlySet<number> = new Set(),
): number[][] {
  const owners = new Map<number, number>();
  const pids = new Map<number, number>();
  for (const { task, stack, owner, seconds } of waits) {
    const known = store.tasks[task];
    if (!known || seconds < VISIT_SECONDS) continue;
    pids.set(known.tid, known.pid);
    const isFile = reasonOf(store.waitOf(stack)) === "file-lock";
    if (owner > 0 && (!isFile || alone.has(owner))) owners.set(known.tid, owner);
  }
  const done = new Set<number>();
  const rings: number[][] = [];
  for (const start of owners.keys()) {
    const path: number[] = [];
    let at: number | undefined = start;
    while (at !== undefined && !done.has(at)) {
      done.add(at);
      path.push(at);
      const owner: number | undefined = owners.get(at);
      // What a thread leaves in a lock means something among the threads of one process only.
      const isKnown: boolean =
        owner !== undefined && (pids.get(owner) === pids.get(at) || alone.has(owner));
      at = isKnown ? owner : undefined;
    }
    const first = at === undefined ? -1 : path.indexOf(at);
    if (first < 0) continue;
    const ring = path.slice(first);
    const lowest = ring.indexOf(Math.min(...ring));
    rings.push([...ring.slice(lowest), ...ring.slice(0, lowest)]);
  }
  return rings;
}

/** Processes of one thread. */
export const processesAlone = ({ processes }: Waiting): Set<number> =>
  new Set(processes.filter(({ threads }) => threads === 1).map(({ pid }) => pid));

/** A ring of threads in words; a thread that locks a mutex twice waits for itself. */
export function ringText(ring: readonly number[]): string {
  if (ring.length === 2) return ring.join(" ↔ ");
  return [...ring, ring[0]].join(" → ");
}

/** What a reader must know of a tick's threads, in the order of importance. */
export function stuckNotices({ store, waiting }: Tick): string[] {
  if (!waiting) return [];
  const shown = selectionOf({ kernel: true, nativeFrames: false }).of(store);
  const rings = deadlocks(store, waiting.longWaits, processesAlone(waiting));
  const names = new Map(waiting.longWaits.map(({ task }) => [store.tasks[task]?.tid, task]));
  const told = rings.map((ring) => {
    const task = store.tasks[names.get(ring[0]) ?? -1];
    return `deadlock: ${ringText(ring)}${task ? ` of ${task.comm} (${task.pid})` : ""}`;
  });
  for (const { task, stack, seconds } of waiting.longWaits) {
    const known = store.tasks[task];
    const since = TOLD_SECONDS.find(([least]) => seconds >= least);
    if (!known || !since || !isUninterruptible(store.waitOf(stack))) continue;
    const { name } = store.functionOf(shown.leaf(stack));
    told.push(`thread ${known.tid} of ${known.comm} in state D for over ${since[1]}, in ${name}`);
  }
  return told;
}
