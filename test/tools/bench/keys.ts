/** How long a key takes to the screen while the machine has no CPU to spare. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { setPriority, tmpdir } from "node:os";
import { join } from "node:path";
import type { TestTerminal } from "../../screen/terminal.ts";
import { compileLoop } from "../../support/loads.ts";
import type { Row, Section } from "../../support/measure.ts";
import { root } from "../../support/polytop.ts";
import { during, type Running, sleep, start } from "../../support/profile.ts";
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

/** Presses the keys in a terminal that `open` starts with an environment. */
async function answers(
  what: string,
  open: (env: Readonly<Record<string, string>>) => Promise<TestTerminal>,
): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "polytop-keys-"));
  const file = join(folder, "delay");
  const env = {
    NODE_OPTIONS: `--import=${root}test/tools/bench/loop-delay.ts`,
    LOOP_DELAY_FILE: file,
  };
  try {
    return await during([compileLoop(), bigPrograms(folder)], async (loads) => {
      const terminal = await open(env);
      setSessionPriority([...loads, terminal.pid, process.pid], SESSION_NICE);
      await sleep(SETTLED_SECONDS);
      setOwnPriority(-20);
      terminal.kill("SIGUSR2");
      const [begin, waited] = [performance.now(), waitedMs(terminal.pid)];
      const found = await pressKeys(terminal);
      const wait = (waitedMs(terminal.pid) - waited) / ((performance.now() - begin) / 1000);
      setOwnPriority(0);
      await close(terminal);
      const { p99, max } = JSON.parse(readFileSync(file, "utf8")) as Record<string, number>;
      const delay = `${p99?.toFixed(1)} p99, ${max?.toFixed(1)} max; ${wait.toFixed(1)} ms a second`;
      return [
        answerRow(`a key to the screen, ${what}, two compilers, 100 MB programs`, found),
        { what: "  its main thread: delay of events; waiting for a CPU", bar: "", figure: delay },
      ];
    });
  } finally {
    setSessionPriority([process.pid], 0);
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
      ...(await answers("200×60", (env) => openLive(200, 60, env))),
      ...(await answers("80×24", (env) => openLive(80, 24, env))),
      ...(await answers("20,000 stacks", (env) => openFixture(200, 60, LARGE, env))),
    ],
  },
];
