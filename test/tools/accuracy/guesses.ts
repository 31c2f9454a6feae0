/** Code without unwind rows: no stack that counts as complete may lack a caller. */
import { existsSync } from "node:fs";
import { inOrder, userFrames } from "../../support/live.ts";
import { percent, type Row, type Section } from "../../support/measure.ts";
import {
  during,
  type FoldedStack,
  type Running,
  sampleFolded,
  share,
  sleep,
  start,
} from "../../support/profile.ts";
import { GUESS_KINDS, lacksCaller, MUSL, workload } from "../../support/workloads.ts";

/** Programs of one kind, and what a stack of them lacks if it counts as complete. */
interface Load {
  readonly what: string;
  readonly programs: () => readonly Running[];
  readonly lacks: (frames: readonly string[]) => boolean;
}

const GENERATED = "[generated code]";

/** Functions of a script that call each other, each as the compiler of the language sees it. */
const NODE = `
function inner(n) { let s = 1; for (let i = 0; i < n; i++) s = (s * 31 + i) | 0; return s }
function middle(n) { return inner(n) + 1 }
function outer(n) { return middle(n) + 1 }
for (;;) outer(20000)`;

const LUA = `
local function inner(n) local s = 1; for i = 1, n do s = (s * 31 + i) % 65521 end; return s end
local function outer(n) return inner(n) + 1 end
while true do outer(20000); string.rep("x", 100):gsub("x", function(c) return c .. "y" end) end`;

const JAVA = `
class Turns {
  static int inner(int n) { int s = 1; for (int i = 0; i < n; i++) s = s * 31 + i; return s; }
  static int middle(int n) { return inner(n) + 1; }
  static int outer(int n) { return middle(n) + 1; }
  public static void main(String[] a) { int s = 0; while (s != 1) s = outer(20000) | 2; }
}`;

/** A stack with generated code in it has at least so many such frames, below `root`. */
const lacksGenerated =
  (root: string, least: number) =>
  (frames: readonly string[]): boolean =>
    frames.includes(GENERATED) &&
    (!frames.includes(root) || frames.filter((frame) => frame === GENERATED).length < least);

const guesses = (args: readonly string[], variant: "plain" | "framePointer") =>
  GUESS_KINDS.map((kind) => start(workload("guesses.c", { variant }), [kind, ...args]));

const musl = (source: string, flags: readonly string[]): Running =>
  start(
    workload(source, { as: `${source.slice(0, 6)}-musl${flags.length}`, compiler: MUSL, flags }),
  );

const LOADS: readonly Load[] = [
  {
    what: "assembly without rows, five uses of rbp",
    programs: () => [...guesses([], "plain"), ...guesses([], "framePointer")],
    lacks: lacksCaller,
  },
  {
    what: "the same code in generated memory",
    programs: () => [...guesses(["memory"], "plain"), ...guesses(["memory"], "framePointer")],
    lacks: lacksCaller,
  },
  {
    what: "musl, static and dynamic",
    programs: () =>
      existsSync(MUSL)
        ? [["-static", "-no-pie", "-fno-pie"], []].flatMap((flags) =>
            ["signals.c", "calls.c"].map((source) => musl(source, flags)),
          )
        : [],
    lacks: (frames) => !frames.includes("main") && !frames.includes("_start"),
  },
  {
    what: "rows that miss where sp is",
    programs: () => [start(workload("wrong_rows.c"))],
    lacks: (frames) => !frames.includes("main"),
  },
  {
    what: "Node without a map of its code",
    programs: () => [start(process.execPath, ["-e", NODE])],
    lacks: lacksGenerated("node::Start", 3),
  },
  {
    what: "LuaJIT",
    programs: () => (existsSync("/usr/bin/luajit") ? [start("/usr/bin/luajit", ["-e", LUA])] : []),
    lacks: (frames) => !frames.includes("main") && !frames.includes("_start"),
  },
  {
    what: "Java",
    programs: () =>
      existsSync("/usr/bin/java")
        ? [
            start("/bin/sh", [
              "-c",
              'cd "$(mktemp -d)" && printf %s "$0" > Turns.java && exec java Turns.java',
              JAVA,
            ]),
          ]
        : [],
    lacks: lacksGenerated("start_thread", 3),
  },
];

const SETTLE_SECONDS = 3;
/** As many samples of each kind as the bar speaks of, and how often they are asked for on a machine that is busy. */
const SAMPLES = 10_000;
const ATTEMPTS = 6;

async function sampleMany(pids: readonly number[]): Promise<readonly FoldedStack[]> {
  const stacks: FoldedStack[] = [];
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    stacks.push(...(await sampleFolded({ seconds: 5, frequency: 1999, pids })));
    if (share(stacks, () => true).samples >= SAMPLES) break;
  }
  return stacks;
}

function judged(what: string, stacks: readonly FoldedStack[], lacks: Load["lacks"]): Row {
  const sums = { samples: 0, wrong: 0, guessed: 0, broken: 0 };
  for (const { frames, count } of stacks) {
    const [outermost = "["] = frames;
    sums.samples += count;
    if (outermost === "[guessed]") sums.guessed += count;
    else if (/^\[\w+: /.test(outermost)) sums.broken += count;
    else if (lacks(userFrames(frames))) sums.wrong += count;
  }
  const { samples, wrong, guessed, broken } = sums;
  const rest = `${percent(guessed, samples)} guessed, ${percent(broken, samples)} broken with its reason`;
  return {
    what: `${what}: complete, and a caller is missing`,
    bar: "0",
    figure: `${wrong}; ${rest}`,
    samples,
    ok: wrong === 0 && samples > 0,
  };
}

async function run(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { what, programs, lacks } of LOADS) {
    const running = programs();
    if (running.length === 0) continue;
    const stacks = await during(running, async (pids) => {
      await sleep(SETTLE_SECONDS);
      return sampleMany(pids);
    });
    rows.push(judged(what, stacks, lacks));
  }
  const others = [
    ["a coroutine made by hand", "coroutine.c", ["first_function"]],
    ["inline assembly that pushes", "pushes.c", ["main"]],
  ] as const;
  for (const [what, source, chain] of others) {
    const stacks = await during([start(workload(source))], sampleMany);
    const isWrong = (frames: readonly string[]): boolean =>
      !inOrder(frames, chain) || frames.includes("never_called");
    rows.push(judged(what, stacks, isWrong));
  }
  return rows;
}

export const guessSections: readonly Section[] = [
  { name: "guesses", about: "stacks through code that has no unwind rows", run },
];
