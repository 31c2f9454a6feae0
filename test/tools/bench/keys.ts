/** How long a key takes to the screen while the machine has no CPU to spare. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { setPriority, tmpdir } from "node:os";
import { join } from "node:path";
import type { TestTerminal } from "../../screen/terminal.ts";
import { compileLoop } from "../../support/loads.ts";
import type { Row, Section } from "../../support/measure.ts";
import { during, type Running, sleep, start } from "../../support/profile.ts";
import { LOADS } from "./loads.ts";
import { close, openFixture, openLive } from "./terminals.ts";
import { LARGE } from "./views.ts";

const KEYS = 200;
const SETTLED_SECONDS = 8;
const BAR_MS = 50;

/**
 * Runs programs of more than 100 MB, one after the other, each new to polytop: copies of this Node,
 * which has symbols and .eh_frame.
 */
function bigPrograms(folder: string): Running {
  const program = "const end = Date.now() + 3000; while (Date.now() < end);";
  const script = `n=0; while :; do n=$((n + 1)); cp "$0" big$n && ./big$n -e '${program}'; rm -f big$n; done`;
  return start("/bin/sh", ["-c", script, process.execPath], { cwd: folder });
}

/** Sets the priority of all threads of this process: it shall not wait for a CPU itself when bytes have come. */
function setOwnPriority(nice: number): void {
  for (const thread of readdirSync("/proc/self/task")) setPriority(Number(thread), nice);
}

/** The priority of a session that is measured, where sessions share the CPUs (autogroup, sched(7)). */
const SESSION_NICE = -8;

/** At -8 what others do on this machine counts for little beside these sessions; at 0 as ever. */
function setSessionPriority(pids: readonly number[], nice: number): void {
  for (const pid of pids) {
    try {
      writeFileSync(`/proc/${pid}/autogroup`, String(nice));
    } catch {
      // Not allowed, or no such kernel: the load average beside the figures tells of others.
    }
  }
}

/** Milliseconds, sorted, and how many keys had no answer. */
interface Answers {
  readonly times: readonly number[];
  readonly lost: number;
}

/** Moves the selection down and up at random moments, where functions stay listed: since `c`. */
async function pressKeys(terminal: TestTerminal): Promise<Answers> {
  const pointerRow = (): number => terminal.firstColumn().indexOf("▶");
  for (const key of "aaj") {
    terminal.type(key);
    await sleep(1);
  }
  const times: number[] = [];
  let lost = 0;
  for (let i = 0; i < KEYS; i++) {
    await sleep(0.05 + Math.random() / 5);
    const before = pointerRow();
    const time = await terminal.answer(i % 2 === 0 ? "j" : "k", () => pointerRow() !== before);
    if (time === undefined) lost++;
    else times.push(time);
  }
  return { times: times.sort((a, b) => a - b), lost };
}

/** What a thread has waited for a CPU so far, ms: the second field of /proc/PID/schedstat. */
const waitedMs = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "latin1").split(" ")[1]) / 1e6;

/** Presses the keys in a terminal that `open` starts beside the loads. */
function answers(
  what: string,
  loads: readonly Running[],
  open: () => Promise<TestTerminal>,
): Promise<Row[]> {
  return during(loads, async (pids) => {
    const terminal = await open();
    try {
      setSessionPriority([...pids, terminal.pid, process.pid], SESSION_NICE);
      await sleep(SETTLED_SECONDS);
      setOwnPriority(-20);
      const [begin, waited] = [performance.now(), waitedMs(terminal.pid)];
      const found = await pressKeys(terminal);
      const wait = (waitedMs(terminal.pid) - waited) / ((performance.now() - begin) / 1000);
      return [
        answerRow(`a key to the screen, ${what}`, found),
        {
          what: "  its main thread waits for a CPU",
          bar: "",
          figure: `${wait.toFixed(1)} ms a second`,
        },
      ];
    } finally {
      setOwnPriority(0);
      setSessionPriority([process.pid], 0);
      await close(terminal);
    }
  });
}

/** The same beside two compilers and programs of 100 MB, each new to polytop. */
async function crowdedAnswers(what: string, open: () => Promise<TestTerminal>): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "polytop-keys-"));
  const title = `${what}, two compilers, 100 MB programs`;
  try {
    return await answers(title, [compileLoop(), bigPrograms(folder)], open);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function answerRow(what: string, { times, lost }: Answers): Row {
  const at = (share: number): number => times[Math.ceil(share * times.length) - 1] ?? Number.NaN;
  const figure = `${at(0.5).toFixed(1)} median, ${at(0.99).toFixed(1)} p99, ${at(1).toFixed(1)} max`;
  return {
    what,
    bar: `p99 ≤ ${BAR_MS} ms`,
    figure: lost > 0 ? `${figure}, ${lost} lost` : figure,
    samples: times.length,
    ok: at(0.99) <= BAR_MS && lost === 0,
  };
}

export const keyDelays: readonly Section[] = [
  {
    name: "keys",
    about: "a key to the screen while nothing is idle",
    run: async () => [
      ...(await crowdedAnswers("200×60", () => openLive(200, 60))),
      ...(await crowdedAnswers("80×24", () => openLive(80, 24))),
      ...(await crowdedAnswers("20,000 stacks", () => openFixture(200, 60, LARGE))),
    ],
  },
  ...LOADS.map((load) => ({
    name: `keys-${load.name}`,
    about: `a key to the screen, 200×60; ${load.title}`,
    onlyByName: true,
    run: () => answers(load.title, load.start(), () => openLive(200, 60)),
  })),
];
