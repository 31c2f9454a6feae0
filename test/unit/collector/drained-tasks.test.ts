/** Threads of the sampler on their way into a store: each is named once, whatever the store and the numbering do. */

import { expect, test } from "vitest";
import type { NewTasks } from "../../../src/addon/drained.ts";
import { DrainedTasks } from "../../../src/collector/drained-tasks.ts";
import { TickWriter } from "../../../src/tick/tick-writer.ts";
import { makeTick } from "../../support/ticks.ts";

/** Threads as the addon names them: pid and tid of each. */
const news = (threads: readonly (readonly [number, number])[], renewed = false): NewTasks => ({
  renewed,
  words: Uint32Array.from(threads.flatMap(([pid, tid]) => [pid, tid, 1, 1000, 0, 1])),
  startTimes: Float64Array.from(threads, ([pid]) => 10 * pid),
  cgroups: BigUint64Array.from(threads, () => 2n ** 63n),
  names: ["a\x1b[2Jb", "worker"],
});

const { counts: _, store: __, ...header } = makeTick([]);

/** Reads no process. */
const nobody = { factsOf: () => undefined, beginRefresh: () => undefined };

/** The threads that a refresh brings, which counts those of these numbers. */
function refresh(writer: TickWriter, tasks: DrainedTasks, numbers: readonly number[]): number[] {
  const [{ length }, stack] = [writer.store.tasks, writer.stack([], 0)];
  for (const number of numbers) writer.count(stack, tasks.number(number) ?? -1, 1);
  return writer
    .take(header)
    .store.tasks.slice(length)
    .map(({ tid }) => tid);
}

test("a thread says once who it is, with clean names", () => {
  const writer = new TickWriter();
  const tasks = new DrainedTasks(writer, nobody);
  tasks.register(news([[7, 7]]));
  tasks.register(news([[7, 8]]));
  expect(tasks.task(1)).toEqual({
    pid: 7,
    tid: 8,
    parentPid: 1,
    uid: 1000,
    cgroup: "9223372036854775808",
    startTime: 70,
    comm: "a\\x1b[2Jb",
    thread: "worker",
  });
  expect(tasks.number(2)).toBeUndefined();
  expect(refresh(writer, tasks, [1, 1])).toEqual([8]);
  expect(refresh(writer, tasks, [1, 0])).toEqual([7]);
  expect(tasks.takeEntered().map(({ tid }) => tid)).toEqual([8, 7]);
  expect(tasks.takeEntered()).toEqual([]);
});

test("a new store is told of threads again, and numbers that begin anew are those of others", () => {
  const writer = new TickWriter();
  const tasks = new DrainedTasks(writer, nobody);
  tasks.register(news([[7, 7]]));
  expect(refresh(writer, tasks, [0])).toEqual([7]);
  for (let name = 0; name < 30_000; name++) writer.frame(0, { note: `text ${name}` });
  expect(refresh(writer, tasks, [])).toEqual([]);
  expect(refresh(writer, tasks, [0])).toEqual([7]);
  tasks.register(news([[9, 9]], true));
  expect(refresh(writer, tasks, [0])).toEqual([9]);
  expect(tasks.number(1)).toBeUndefined();
});
