/** What goes wrong once a minute while polytop runs for hours. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { SECOND_CPU } from "../../../support/cpu-time.ts";
import { sleep } from "../../../support/profile.ts";
import { descendants } from "../../../support/watched.ts";

/** Does it to the polytop with this pid; resolves when it is over. */
type Fault = (pid: number) => Promise<void>;

const signal = (pid: number, comm: string, name: NodeJS.Signals): void => {
  for (const it of descendants(pid).filter((child) => child.comm === comm)) {
    try {
      process.kill(it.pid, name);
    } catch {
      // It has ended.
    }
  }
};

const [PARSER, READER] = ["polytop-parser", "polytop-reader"];

/** By what they are called. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  "parser killed": async (pid) => {
    for (let time = 0; time < 20; time++) {
      signal(pid, PARSER, "SIGKILL");
      await sleep(0.1);
    }
  },
  "reader killed": async (pid) => {
    for (let time = 0; time < 20; time++) {
      signal(pid, READER, "SIGKILL");
      await sleep(0.1);
    }
  },
  "parser stopped": async (pid) => {
    signal(pid, PARSER, "SIGSTOP");
    await sleep(5);
    signal(pid, PARSER, "SIGCONT");
  },
  "reader stopped": async (pid) => {
    signal(pid, READER, "SIGSTOP");
    await sleep(5);
    signal(pid, READER, "SIGCONT");
  },
  "polytop stopped": async (pid) => {
    process.kill(pid, "SIGSTOP");
    await sleep(4);
    process.kill(pid, "SIGCONT");
  },
  "a CPU taken away": async () => {
    if (!existsSync(SECOND_CPU)) return;
    // A shell of its own session gives the CPU back even where this program is killed meanwhile.
    const script = `echo 0 > ${SECOND_CPU}; sleep 3; echo 1 > ${SECOND_CPU}`;
    await once(spawn("/bin/sh", ["-c", script], { detached: true, stdio: "ignore" }), "exit");
  },
};
