/** Pythons to test with, programs for them, and what sys._getframe() says in these. */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { Frame } from "../../src/tick/store.ts";
import type { Tick } from "../../src/tick/tick.ts";
import { debianCache, unpackDebian } from "./debian.ts";
import { root } from "./polytop.ts";
import { type Running, start } from "./profile.ts";
import { type Stack, stackCounts } from "./ticks.ts";
import { expectWalkSums } from "./walks.ts";

/** An installed python. */
export interface Python {
  readonly version: string;
  /** What it differs in from others of its version. */
  readonly kind?: string;
  /** The root of the file system that it sees. */
  readonly root: string;
  /** How it is run. */
  readonly command: readonly string[];
}

export const pythonPrograms = `${root}test/workloads/python`;

/** Suites of Debian whose pythons the tests want besides the machine's: 3.9, 3.13, and the newest two. */
const SUITES = [
  { suite: "bullseye", program: "python3" },
  { suite: "trixie", program: "python3" },
  { suite: "sid", program: "python3" },
  { suite: "sid", program: "python3.15" },
] as const;

/** A python of the machine; the reason where it has none. */
export const machinesPython = (): Python | string =>
  pythonAt("/", ["/usr/bin/python3"]) ?? "python3 is not installed";

/** The python of a suite, unpacked into the cache at its first use; the reason where it cannot be had. */
function pythonOf(
  { suite, program }: (typeof SUITES)[number],
  environment: readonly string[] = [],
): Python | string {
  const name = program === "python3" ? `python-${suite}` : `${program}-${suite}`;
  const unpacked = unpackDebian({ name, suite, packages: [program] });
  if (typeof unpacked === "string") return unpacked;
  const command = ["env", ...environment, "chroot", unpacked.root, `/usr/bin/${program}`];
  return pythonAt(unpacked.root, command) ?? `the ${program} in ${unpacked.root} does not run`;
}

/** 3.15 with its JIT compiler, which its build has and leaves off. */
function pythonWithJit(): Python | string {
  const python = pythonOf({ suite: "sid", program: "python3.15" }, ["PYTHON_JIT=1"]);
  if (typeof python === "string") return python;
  const [command = "", ...args] = python.command;
  const script = "import sys; sys.exit(not sys._jit.is_enabled())";
  const { status } = spawnSync(command, [...args, "-c", script]);
  return status === 0 ? { ...python, kind: "with its JIT" } : "the python3.15 of sid has no JIT";
}

/** A version without the GIL, which Debian does not ship: test/support/build-python makes it. */
function freeThreadedPython(suite: string, version: string): Python | string {
  const program = `${debianCache}/python${version}t/bin/python${version}t`;
  if (!existsSync(program))
    return `there is no python${version}t: test/support/build-python ${debianCache} ${suite} ${version} makes one`;
  const python = pythonAt("/", [program]);
  return python ? { ...python, kind: "without the GIL" } : `${program} does not run`;
}

/** A python of a version that a suite offers in a package of the name of its program; each has a folder of its own. */
export function offeredPython(suite: string, version: string, program: string): Python | string {
  const unpacked = unpackDebian({ name: `${program}-${version}`, suite, packages: [program] });
  if (typeof unpacked === "string") return unpacked;
  const command = ["chroot", unpacked.root, `/usr/bin/${program}`];
  return pythonAt(unpacked.root, command) ?? `the ${program} in ${unpacked.root} does not run`;
}

/** Further pythons: paths in $POLYTOP_PYTHONS, separated by colons. */
const named = (process.env.POLYTOP_PYTHONS ?? "").split(":").filter(Boolean);

/** A python by what it is called. */
interface Wanted {
  readonly name: string;
  readonly get: () => Python | string;
}

const FREE_THREADED: readonly Wanted[] = [
  { suite: "trixie", version: "3.13" },
  { suite: "sid", version: "3.14" },
  { suite: "sid", version: "3.15" },
].map(({ suite, version }) => ({
  name: `a python${version} without the GIL`,
  get: () => freeThreadedPython(suite, version),
}));

/** Every python that tables are made with. */
export const ALL_PYTHONS: readonly Wanted[] = [
  { name: "the machine's python", get: machinesPython },
  ...SUITES.map((it) => ({
    name:
      it.program === "python3" ? `the python of ${it.suite}` : `the ${it.program} of ${it.suite}`,
    get: () => pythonOf(it),
  })),
  { name: "the python3.15 of sid with its JIT", get: pythonWithJit },
  ...FREE_THREADED,
  ...named.map((path) => ({
    name: path,
    get: () => pythonAt("/", [path]) ?? `${path} does not run`,
  })),
];

/** Those that tests run with: what takes minutes to build is tested where it was built. */
export const PYTHONS: readonly Wanted[] = ALL_PYTHONS.filter(
  (it) => !FREE_THREADED.includes(it) || typeof it.get() !== "string",
);

function pythonAt(root: string, command: readonly string[]): Python | undefined {
  const [program = "", ...args] = command;
  const script = "import sys; print('%d.%d.%d' % sys.version_info[:3])";
  const ran = spawnSync(program, [...args, "-c", script], { encoding: "utf8" });
  return ran.status === 0 ? { version: ran.stdout.trim(), root, command } : undefined;
}

/** A program under way that writes down the stacks that it sees. */
export interface PythonProgram extends Running {
  /** The stacks until now: see test/workloads/python/burn.py. */
  truth(): ReadonlySet<string>;
}

/** Starts a program of test/workloads/python with a python; `options` are the interpreter's. */
export function startPython(
  python: Python,
  name: string,
  options: readonly string[] = [],
): PythonProgram {
  const temporary = `${python.root}/tmp`;
  mkdirSync(temporary, { recursive: true });
  const outside = mkdtempSync(`${temporary}/polytop-python-`);
  const inside = outside.slice(python.root.length).replace(/^\/*/, "/");
  for (const file of [name, "burn.py"])
    copyFileSync(`${pythonPrograms}/${file}`, `${outside}/${file}`);
  const environment = [`WL=${inside}`, `BURN_TRUTH=${inside}/truth`, "PYTHONDONTWRITEBYTECODE=1"];
  const running = start("env", [
    ...environment,
    ...python.command,
    ...options,
    `${inside}/${name}`,
  ]);
  const read = () =>
    existsSync(`${outside}/truth`)
      ? new Set(readFileSync(`${outside}/truth`, "utf8").split("\n").filter(Boolean))
      : new Set<string>();
  let last: ReadonlySet<string> | undefined;
  const stop = async () => {
    await running.stop();
    last ??= read();
    rmSync(outside, { recursive: true, force: true });
  };
  return { ...running, stop, truth: () => last ?? read() };
}

/** The Python frames of a stack, leaf first. */
export const pythonFrames = (stack: Stack): Frame[] =>
  stack.frames.filter((frame) => frame.function.runtime === "python");

/** How the stacks of a program agree with what it saw. */
export interface Agreement {
  samples: number;
  complete: number;
  /** Samples in burn(), where the truth is known, and how many different stacks these are. */
  inside: number;
  stacks: number;
  same: number;
  sameStacks: number;
  /** Stacks that the program did not see, at most a few. */
  readonly wrong: string[];
}

const BURN = "burn";

/** Compares the stacks in which burn() uses the CPU with what it saw there: names, files and lines. */
export function compareWithTruth(ticks: readonly Tick[], truth: ReadonlySet<string>): Agreement {
  const result: Agreement = {
    samples: 0,
    complete: 0,
    inside: 0,
    stacks: 0,
    same: 0,
    sameStacks: 0,
    wrong: [],
  };
  const chains = new Map<string, number>();
  for (const { stack, count } of stackCounts(...ticks)) {
    result.samples += count;
    if (stack.outcome === "complete") result.complete += count;
    const [burn, ...callers] = pythonFrames(stack);
    // Lines before the last but one write the truth down.
    if (burn?.function.name !== BURN || (burn.line ?? 0) < BURN_LINE) continue;
    const chain = callers.map(
      ({ function: { name, module }, line = 0 }) =>
        `${name === "(module)" ? "<module>" : name}|${module}|${line}`,
    );
    chains.set(chain.join("\t"), (chains.get(chain.join("\t")) ?? 0) + count);
  }
  for (const [chain, count] of chains) {
    const same = truth.has(chain);
    result.inside += count;
    result.stacks++;
    if (same) result.same += count;
    if (same) result.sameStacks++;
    if (!same && result.wrong.length < 4) result.wrong.push(chain);
  }
  return result;
}

/** The line of burn.py from which on it uses the CPU. */
const BURN_LINE =
  readFileSync(`${pythonPrograms}/burn.py`, "utf8")
    .split("\n")
    .findIndex((line) => line.includes("for k in range")) + 1;

/** Every walk ends in exactly one way. */
export const expectPythonSums = (ticks: readonly Tick[]): void =>
  expectWalkSums(ticks, "python", "UnwindPythonAttempts");
