/** Whose processes are and what they run, read from /proc once for each that is counted. */
import { CgroupNames } from "../machine/cgroups.ts";
import { joinWords, programWords, readCommandLine } from "../machine/command-line.ts";
import { startOfProcess, TICKS_PER_SECOND } from "../machine/process-start.ts";
import { userNames } from "../machine/users.ts";
import { cleanName } from "../tick/clean-name.ts";
import type { ProcessFacts, Task } from "../tick/tick.ts";

/**
 * So many processes are read in a refresh: each takes some 50 µs. Where a machine starts more, the others keep their
 * name, and those that are still there in the next refresh are read then.
 */
const MOST_READ = 40;
/** So many processes are remembered; all are read again when there are more. */
const MOST_KNOWN = 4000;

const NO_GROUP = { container: "", unit: "", group: "" };

/** What has to be known of a process to read more of it. */
type Counted = Pick<Task, "pid" | "startTime" | "comm" | "uid" | "cgroup">;

export class ProcessReader {
  readonly #userName = userNames();
  readonly #groups = new CgroupNames();
  /** By pid, start and name: a process that runs another program has another name. */
  readonly #known = new Map<string, ProcessFacts>();
  readonly #withArguments: boolean;
  #read = 0;

  /** `withArguments`: whether command lines are read whole. */
  constructor(withArguments: boolean) {
    this.#withArguments = withArguments;
  }

  /** Lets processes be read again; a refresh begins. */
  beginRefresh(): void {
    this.#read = 0;
  }

  /** The facts of a process; undefined where it was not read yet. */
  factsOf({ pid, startTime, comm, uid, cgroup }: Counted): ProcessFacts | undefined {
    const key = `${pid} ${startTime} ${comm}`;
    const known = this.#known.get(key);
    if (known || this.#read >= MOST_READ) return known;
    this.#read++;
    if (this.#known.size >= MOST_KNOWN) this.#known.clear();
    const words = commandLineOf(pid, startTime);
    const facts: ProcessFacts = {
      user: this.#userName(uid) ?? "",
      ...(words ? this.#groups.describe({ pid, startTime, cgroup }) : NO_GROUP),
      command: textOf(programWords(words ?? [])),
      ...(this.#withArguments ? { arguments: textOf(words ?? []) } : {}),
    };
    this.#known.set(key, facts);
    return facts;
  }
}

/** The command line of a process that began then; undefined where another one has its pid by now, or none. */
function commandLineOf(pid: number, startTime: number): readonly string[] | undefined {
  const words = readCommandLine(pid);
  const start = words && Number(startOfProcess(pid));
  const ticks = Math.floor((startTime * TICKS_PER_SECOND) / 1000);
  return start !== undefined && Math.abs(start - ticks) <= 1 ? words : undefined;
}

/** A single word is what a program calls itself, or its path: neither is quoted. */
const textOf = (words: readonly string[]): string =>
  cleanName(words.length === 1 ? (words[0] ?? "") : joinWords(words));
