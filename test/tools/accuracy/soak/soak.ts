/**
 * Whether polytop runs for hours as it runs in its first minutes: memory, descriptors and maps stay, and what it prints
 * adds up in each refresh. `POLYTOP_SOAK_MINUTES=10 npm run accuracy soak` is a short one.
 */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import type { Row, Section } from "../../../support/measure.ts";
import { isRunning, launcher } from "../../../support/polytop.ts";
import { sleep } from "../../../support/profile.ts";
import { wrongSums } from "../../../support/sums.ts";
import { treeMegabytes, Watched } from "../../../support/watched.ts";
import { Churn } from "./churn.ts";
import { FAULTS } from "./faults.ts";

const DEFAULT_MINUTES = 120;
const LOOK_SECONDS = 2;
const FAULT_SECONDS = 60;
/** What is compared: minutes 20 to 40 of 120 with minutes 100 to 120. */
const PARTS = 6;

/** What a process held at one time. */
interface Look {
  readonly megabytes: number;
  /** Of these, memory of no file: pages of files come and go as the kernel finds room for them. */
  readonly anonymous: number;
  readonly descriptors: number;
  readonly maps: number;
}

function look(pid: number): Look {
  return {
    megabytes: treeMegabytes(pid),
    anonymous: treeMegabytes(pid, "RssAnon"),
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    maps: readFileSync(`/proc/${pid}/maps`, "latin1").split("\n").length,
  };
}

const add = (values: readonly number[]): number => values.reduce((sum, it) => sum + it, 0);
const mean = (values: readonly number[]): number => add(values) / Math.max(1, values.length);

/** The live view in a terminal of its own. */
class LiveView {
  readonly #name = `polytop-soak-${process.pid}`;
  readonly pid: number;

  constructor() {
    this.#tmux("-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "40", launcher);
    this.pid = Number(this.#tmux("display", "-p", "#{pane_pid}"));
  }

  #tmux(...args: readonly string[]): string {
    return execFileSync("tmux", ["-L", this.#name, ...args], { encoding: "utf8" });
  }

  type(keys: string): void {
    this.#tmux("send-keys", keys);
  }

  async end(): Promise<void> {
    if (isRunning(this.pid)) this.type("q");
    for (let wait = 0; wait < 50 && isRunning(this.pid); wait++) await sleep(0.1);
    try {
      this.#tmux("kill-server");
    } catch {
      // It has ended with its only window.
    }
  }
}

/** The looks of one part of the time. */
const partOf = (looks: readonly Look[], part: number): Look[] =>
  looks.slice(
    Math.floor((part * looks.length) / PARTS),
    Math.floor(((part + 1) * looks.length) / PARTS),
  );

function rowsOf(what: string, looks: readonly Look[]): Row[] {
  const parts = Array.from({ length: PARTS }, (_, part) => partOf(looks, part));
  const meansOf = (of: keyof Look): number[] => parts.map((part) => mean(part.map((it) => it[of])));
  const listed = (means: readonly number[]): string => means.map((it) => it.toFixed(0)).join(" ");
  const megabytes = meansOf("megabytes");
  const [early = 0, late = 0] = [megabytes[1], megabytes.at(-1)];
  // A leak raises the mean as surely as the most, which one fault's second decides.
  const flat = (of: "descriptors" | "maps"): Row => {
    const means = meansOf(of);
    const most = Math.max(0, ...looks.map((it) => it[of]));
    return {
      what: `${what}: ${of} in each sixth of the time, the last against the second`,
      bar: "≤ 105 %",
      figure: `${listed(means)}, at most ${most}`,
      samples: looks.length,
      ok: (means.at(-1) ?? 0) <= 1.05 * (means[1] ?? 0),
    };
  };
  return [
    {
      what: `${what}: MB in each sixth of the time, the last against the second`,
      bar: "within 3 %",
      figure: `${listed(megabytes)}: ${(100 * (late / early - 1)).toFixed(1)} %`,
      samples: looks.length,
      ok: Math.abs(late / early - 1) <= 0.03,
    },
    {
      what: `${what}: MB of no file in each sixth of the time`,
      bar: "",
      figure: listed(meansOf("anonymous")),
      samples: looks.length,
    },
    flat("descriptors"),
    flat("maps"),
  ];
}

async function soaked(minutes: number): Promise<Row[]> {
  const churn = new Churn();
  const wrong: string[] = [];
  let [refreshes, last, longest] = [0, performance.now(), 0];
  const json = new Watched(
    ({ at, snapshot }) => {
      refreshes++;
      longest = Math.max(longest, at - last);
      last = at;
      const sums = wrongSums(snapshot);
      if (sums !== "") wrong.push(sums);
    },
    ["--rows", "0"],
  );
  const live = new LiveView();
  const looks: { readonly json: Look[]; readonly live: Look[] } = { json: [], live: [] };
  const faults = Object.entries(FAULTS);
  let [faulted, ended] = [0, 0];
  try {
    await json.refreshes(3);
    churn.start();
    const begun = performance.now();
    for (let at = 0; performance.now() - begun < 60_000 * minutes; at++) {
      await sleep(LOOK_SECONDS);
      looks.json.push(look(json.pid));
      looks.live.push(look(live.pid));
      // The views of the screen in turn.
      if (at % 15 === 0) live.type(String(1 + ((at / 15) % 4)));
      if ((performance.now() - begun) / 1000 / FAULT_SECONDS < faulted + 1) continue;
      const [name, fault] = faults[faulted % faults.length] ?? [];
      faulted++;
      if (process.env.POLYTOP_DEBUG) console.error(`${faulted}: ${name}`);
      await Promise.all([fault?.(json.pid), fault?.(live.pid)]);
    }
  } finally {
    await churn.stop();
    ended = await json.end();
    await live.end();
  }
  return [
    ...rowsOf("--json", looks.json),
    ...rowsOf("live", looks.live),
    {
      what: "refreshes whose stacks, functions and processes each add up to all samples",
      bar: "all",
      figure: `${refreshes - wrong.length} of ${refreshes}${wrong.length > 0 ? `: ${wrong[0]}` : ""}`,
      ok: refreshes > 0 && wrong.length === 0,
    },
    {
      what: `from one refresh to the next, ${faulted} faults among them`,
      bar: "",
      figure: `at most ${(longest / 1000).toFixed(1)} s`,
    },
    {
      what: "SIGTERM until the end",
      bar: "≤ 2 s, status 0",
      figure: `${ended.toFixed(2)} s, status ${json.status}`,
      ok: ended <= 2 && json.status === 0,
    },
  ];
}

export const soak: Section = {
  name: "soak",
  about: "two hours of churn and faults: memory, descriptors, maps, sums (POLYTOP_SOAK_MINUTES)",
  onlyByName: true,
  run: () => soaked(Number(process.env.POLYTOP_SOAK_MINUTES ?? DEFAULT_MINUTES)),
};
