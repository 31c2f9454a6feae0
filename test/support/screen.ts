/** Ticks for tests of what the screen lists. */
import type { Tick } from "../../src/tick/tick.ts";
import { makeTick, TickMaker, task } from "./ticks.ts";

const FIRST_PID = 100;

/** A tick in which native functions have so many samples each, every one in a process of its own name. */
export function openTick(
  counts: Readonly<Record<string, number>>,
  more: Parameters<typeof makeTick>[1],
): Tick {
  const maker = new TickMaker();
  const list = Object.entries(counts).map(([name, count]) => ({
    stack: maker.stack([`n:${name}@app`]),
    task: task(FIRST_PID + Number(/\d+/.exec(name)?.[0] ?? 0), name),
    count,
  }));
  return makeTick(list, more);
}
