/** Threads that will not go on by themselves, in words: cycles of lock owners, and waits that no signal ends. */
import type { Store } from "../../tick/store.ts";
import type { Tick } from "../../tick/tick.ts";
import { isUninterruptible, type LongWait } from "../../tick/waits.ts";
import { selectionOf } from "../selection.ts";

/** A wait in state D is told of once it has lasted this long, and again when it has lasted much longer. */
const TOLD_SECONDS: readonly (readonly [seconds: number, text: string])[] = [
  [3600, "an hour"],
  [600, "10 min"],
  [60, "1 min"],
  [10, "10 s"],
];

/** Threads that wait for each other in a ring, each ring once, from its lowest number on. */
export function deadlocks(store: Pick<Store, "tasks">, waits: readonly LongWait[]): number[][] {
  const owners = new Map<number, number>();
  const pids = new Map<number, number>();
  for (const { task, owner } of waits) {
    const known = store.tasks[task];
    if (!known) continue;
    pids.set(known.tid, known.pid);
    if (owner > 0) owners.set(known.tid, owner);
  }
  const done = new Set<number>();
  const rings: number[][] = [];
  for (const start of owners.keys()) {
    const path: number[] = [];
    let at: number | undefined = start;
    while (at !== undefined && !done.has(at)) {
      done.add(at);
      path.push(at);
      const owner = owners.get(at);
      // glibc's note of an owner means something among the threads of one process only.
      at = owner !== undefined && pids.get(owner) === pids.get(at) ? owner : undefined;
    }
    const first = at === undefined ? -1 : path.indexOf(at);
    if (first < 0) continue;
    const ring = path.slice(first);
    const lowest = ring.indexOf(Math.min(...ring));
    rings.push([...ring.slice(lowest), ...ring.slice(0, lowest)]);
  }
  return rings;
}

/** A ring of threads in words; a thread that locks a mutex twice waits for itself. */
export function ringText(ring: readonly number[]): string {
  if (ring.length === 2) return ring.join(" ↔ ");
  return [...ring, ring[0]].join(" → ");
}

/** What a reader must know of a tick's threads, in the order of importance. */
export function stuckNotices({ store, waiting }: Tick): string[] {
  if (!waiting) return [];
  const shown = selectionOf({ kernel: true, nativeFrames: false }).of(store);
  const rings = deadlocks(store, waiting.longWaits);
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
