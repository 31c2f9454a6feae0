/** Threads that do not run, as a tick of a recording holds them; see ./format.ts. */
import { ACTIVITIES, type Activity, type LongWait, type Waiting } from "../tick/waits.ts";
import type { ByteReader, ByteWriter } from "./bytes.ts";
import { FormatError, LIMITS } from "./format.ts";

/** What a tick says of threads that wait. */
export interface WaitingFacts {
  readonly activity?: Activity;
  readonly waiting?: Waiting;
}

/** Numbers in the file by numbers of a store. */
interface Listed {
  readonly stacks: readonly number[];
  readonly tasks: readonly number[];
}

/** How many stacks and threads a file has listed. */
interface Known {
  readonly stacks: number;
  readonly tasks: number;
}

const UINT32 = 2 ** 32;

/** Writes how threads waited in a tick, with the numbers of stacks and threads in the file. */
export function writeWaiting(
  out: ByteWriter,
  { activity, waiting }: WaitingFacts,
  listed: Listed,
): void {
  out.maybe(activity === undefined ? undefined : ACTIVITIES.indexOf(activity));
  out.uint(waiting ? 1 : 0);
  if (!waiting) return;
  out.uint(waiting.sweeps);
  out.number(waiting.lost);
  out.uint(waiting.processes.length);
  for (const { pid, startTime, threads, running, runnable, blocked } of waiting.processes) {
    out.uint(pid);
    out.uint(threads);
    for (const it of [startTime, running, runnable, blocked]) out.number(it);
  }
  const waits = waiting.longWaits.filter(
    ({ stack, task }) => listed.stacks[stack] !== undefined && listed.tasks[task] !== undefined,
  );
  out.uint(waits.length);
  for (const { stack, task, seconds, owner } of waits) {
    out.uint(listed.stacks[stack] ?? 0);
    out.uint(listed.tasks[task] ?? 0);
    out.number(seconds);
    out.uint(owner);
  }
}

/** Reads what writeWaiting() wrote. Throws a FormatError. */
export function readWaiting(reader: ByteReader, known: Known): WaitingFacts {
  const place = reader.maybe(ACTIVITIES.length, "kind of activity");
  const activity = place === undefined ? undefined : ACTIVITIES[place];
  const asked = activity === undefined ? {} : { activity };
  const has = reader.below(2, "mark of waiting");
  if (has === 0) return asked;
  const [sweeps, lost] = [reader.uint(), reader.amount()];
  const processCount = reader.count(LIMITS.tasks, "processes");
  const processes = Array.from({ length: processCount }, () => {
    const [pid, threads] = [reader.below(UINT32, "process"), reader.below(UINT32, "thread count")];
    const [startTime, running] = [reader.amount(), reader.amount()];
    return {
      pid,
      threads,
      startTime,
      running,
      runnable: reader.amount(),
      blocked: reader.amount(),
    };
  });
  const waitCount = reader.count(LIMITS.tasks, "waits");
  const longWaits = Array.from({ length: waitCount }, (): LongWait => {
    const [stack, task] = [reader.uint(), reader.uint()];
    if (stack >= known.stacks || task >= known.tasks)
      throw new FormatError("there is no such wait");
    return { stack, task, seconds: reader.amount(), owner: reader.below(UINT32, "thread") };
  });
  return { ...asked, waiting: { processes, longWaits, sweeps, lost } };
}
