/**
 * The thread that tries inputs of a target, and keeps those that reach parts of its sources that no other did, as V8
 * counts them. The input that is being tried lies in shared memory: whoever watches has it when this thread hangs.
 */
import { Session } from "node:inspector";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parentPort, workerData } from "node:worker_threads";
import { root } from "../../support/polytop.ts";
import { Chance, mutate } from "./mutate.ts";
import { TARGETS } from "./targets.ts";

/** What the thread begins with. */
export interface Work {
  readonly name: string;
  readonly inputs: readonly Uint8Array[];
  readonly seconds: number;
  readonly runs: number;
  /** Two numbers, of runs and of bytes, and behind them the bytes of the input. */
  readonly shared: SharedArrayBuffer;
}

/** What it says at the end. */
export interface Said {
  /** The inputs that reach all that was reached. */
  readonly inputs: readonly Uint8Array[];
}

/** Coverage is looked at after so many runs: it takes some milliseconds. */
const BATCH = 400;

const { name, inputs, seconds, runs, shared } = workerData as Work;
const target = TARGETS.find((it) => it.name === name);
if (!target) throw new Error(`there is no target ${name}`);
const [numbers, bytes] = [new Int32Array(shared, 0, 2), new Uint8Array(shared, 8)];
const urls = new Set(target.sources.map((it) => pathToFileURL(join(root, "src", it)).href));

const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });

/** Parts of the sources that were reached. */
const seen = new Set<string>();

/** The parts that were reached since the last call and are not in `seen`. */
function takeNews(): string[] {
  const news: string[] = [];
  session.post("Profiler.takePreciseCoverage", (error, taken) => {
    if (error) throw error;
    for (const { url, functions } of taken.result) {
      if (!urls.has(url)) continue;
      for (const { startOffset, endOffset, count } of functions.flatMap((it) => it.ranges)) {
        const key = `${url}:${startOffset}:${endOffset}`;
        if (count > 0 && !seen.has(key)) news.push(key);
      }
    }
  });
  return news;
}

function tryOne(input: Uint8Array): void {
  bytes.set(input);
  numbers[1] = input.length;
  Atomics.add(numbers, 0, 1);
  target?.tryInput(Buffer.from(input));
}

const kept: Buffer[] = [];

/** Keeps an input that reaches what none before it did. */
function keepIfNew(input: Uint8Array): void {
  tryOne(input);
  const news = takeNews();
  for (const part of news) seen.add(part);
  if (news.length > 0) kept.push(Buffer.from(input));
}

for (const input of [...inputs].toSorted((a, b) => a.length - b.length)) keepIfNew(input);
const chance = new Chance(Date.now());
const latest = performance.now() + 1000 * seconds;
while (performance.now() < latest && (numbers[0] ?? 0) < runs) {
  const batch = Array.from({ length: BATCH }, () => mutate(kept, chance, target.longest));
  for (const input of batch) tryOne(input);
  if (takeNews().length > 0) for (const input of batch) keepIfNew(input);
  // What a WeakRef points at stays until the turn that made it ends.
  await new Promise((resolve) => setImmediate(resolve));
}
parentPort?.postMessage({ inputs: kept } satisfies Said);
