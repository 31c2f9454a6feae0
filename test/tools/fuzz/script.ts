/** Runs a target that is written in TypeScript, and says which of its lines the inputs reach. */

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { root } from "../../support/polytop.ts";
import { keep, unpack } from "./corpora.ts";
import type { Said, Work } from "./guided.ts";
import type { Limits, Outcome } from "./native.ts";
import { TARGETS, type Target } from "./targets.ts";

export { TARGETS };

const place = join(root, "build/fuzz");
const MAX_BYTES = 1 << 20;
/** An input takes some microseconds; the machine may be busy. */
const MOST_SECONDS = 10;
const MOST_MEGABYTES = 256;

/** Tries inputs until the limits are reached or one of them is a finding. */
export async function fuzzTarget(target: Target, limits: Limits): Promise<Outcome> {
  const { name } = target;
  const [inputs = "", findings = ""] = ["all", "findings"].map((it) => join(place, it, name));
  rmSync(inputs, { recursive: true, force: true });
  for (const path of [inputs, findings]) mkdirSync(path, { recursive: true });
  unpack(name, inputs);
  const begun = performance.now();
  const known = [...target.seeds(), ...readAll(inputs)];
  const shared = new SharedArrayBuffer(8 + MAX_BYTES);
  const found = await watch(target, { name, inputs: known, ...limits, shared });
  const seconds = (performance.now() - begun) / 1000;
  const [runs = 0, length = 0] = new Int32Array(shared, 0, 2);
  if (found instanceof Error) {
    console.error(`${name}: ${found.stack}`);
    const last = new Uint8Array(shared, 8).slice(0, length);
    writeFileSync(join(findings, `finding-${runs}`), last);
  } else {
    rmSync(inputs, { recursive: true });
    mkdirSync(inputs);
    for (const [at, bytes] of found.entries()) {
      writeFileSync(join(inputs, String(at).padStart(4, "0")), bytes);
    }
    keep(name, inputs);
  }
  const kept = readAll(inputs);
  const lines = await coverage(target, kept);
  return { runs, seconds, findings: readdirSync(findings), inputs: kept.length, lines };
}

const readAll = (folder: string): Buffer[] =>
  readdirSync(folder)
    .sort()
    .map((file) => readFileSync(join(folder, file)));

/** The inputs that are worth keeping, or what went wrong: something thrown, too much memory, too long. */
function watch(target: Target, work: Work): Promise<readonly Uint8Array[] | Error> {
  return new Promise((resolve) => {
    const worker = new Worker(new URL("./guided.ts", import.meta.url), {
      workerData: work,
      resourceLimits: { maxOldGenerationSizeMb: MOST_MEGABYTES },
    });
    const numbers = new Int32Array(work.shared, 0, 2);
    let [before, since] = [-1, performance.now()];
    const timer = setInterval(() => {
      const runs = Atomics.load(numbers, 0);
      if (runs !== before) [before, since] = [runs, performance.now()];
      if (performance.now() - since < 1000 * MOST_SECONDS) return;
      end(new Error(`${target.name} takes longer than ${MOST_SECONDS} s`));
      void worker.terminate();
    }, 500);
    const end = (result: readonly Uint8Array[] | Error): void => {
      clearInterval(timer);
      resolve(result);
    };
    worker.on("message", ({ inputs }: Said) => end(inputs));
    worker.on("error", (error) => end(error instanceof Error ? error : new Error(String(error))));
  });
}

/** Which share of the lines of each source the inputs reach: a line counts where some code of it ran. */
async function coverage(target: Target, inputs: readonly Buffer[]): Promise<string> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  for (const input of inputs) target.tryInput(Buffer.from(input));
  const { result } = await session.post("Profiler.takePreciseCoverage");
  session.disconnect();
  return target.sources
    .map((source) => {
      const path = join(root, "src", source);
      const script = result.find(({ url }) => url === pathToFileURL(path).href);
      const ranges = script?.functions.flatMap((it) => it.ranges) ?? [];
      return `${source.slice(source.lastIndexOf("/") + 1)} ${shareOf(readFileSync(path, "utf8"), ranges)} %`;
    })
    .join(", ");
}

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

/** The innermost range of a place says whether it ran. Types and comments are no code. */
function shareOf(text: string, ranges: readonly Range[]): number {
  const sorted = ranges.toSorted(
    (a, b) => b.endOffset - b.startOffset - (a.endOffset - a.startOffset),
  );
  const ran = new Uint8Array(text.length).fill(1);
  for (const { startOffset, endOffset, count } of sorted)
    ran.fill(count > 0 ? 1 : 0, startOffset, endOffset);
  let [lines, reached, at] = [0, 0, 0];
  for (const line of text.split("\n")) {
    const isCode =
      /[;{,)]$/.test(line.trim()) && !/^\s*(\/?\*|\/\/|import|export (interface|type))/.test(line);
    const first = at + line.search(/\S|$/);
    if (isCode) lines++;
    if (isCode && ran[first]) reached++;
    at += line.length + 1;
  }
  return Math.floor((100 * reached) / Math.max(lines, 1));
}
