/** docs/reference.md: every column and every counter, out of the tables that the program runs by. */
import counterFile from "../../../bpf/counters.json" with { type: "json" };
import { SNAPSHOT } from "../../../src/output/snapshot-schema.ts";
import { HEADER_TERMS } from "../../../src/screen/help.ts";
import { BINDINGS } from "../../../src/screen/keys/bindings.ts";
import { VIEWS } from "../../../src/screen/views/registry.ts";
import type { KeyGroup } from "../../../src/screen/views/view.ts";
import { CHANGE_COLUMN, type Column, FUNCTION_COLUMNS } from "../../../src/text/columns.ts";
import { COUNT_COLUMNS } from "../../../src/text/event-columns.ts";
import { PROCESS_COLUMNS } from "../../../src/text/process-columns.ts";
import { STATE_COLUMNS, WAIT_COLUMNS } from "../../../src/text/wait-columns.ts";
import { RUNTIME_ROWS, RUNTIMES } from "../../../src/tick/runtimes.ts";
import type { CounterDefinition } from "../../../src/tick/source.ts";
import { REASON_LABELS, REASONS, type Reason } from "../../../src/tick/waits.ts";

type AnyColumn = Pick<Column<never, never>, "heading" | "meaning" | "plain" | "json">;

/** Vertical bars end a cell, angle brackets would be tags. */
const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("<", "&lt;");

const table = (headings: readonly string[], rows: readonly (readonly string[])[]): string =>
  [headings, headings.map(() => "---"), ...rows]
    .map((row) => `| ${row.map(cell).join(" | ")} |`)
    .join("\n");

/** Columns as a table; those of a list that plain output has name it. */
function columnTable(columns: readonly AnyColumn[]): string {
  const isPlain = columns.some(({ plain }) => plain);
  return table(
    ["column", "meaning", ...(isPlain ? ["plain output"] : []), "JSON"],
    columns.map(({ heading, meaning, plain, json }) => [
      heading,
      meaning,
      ...(isPlain ? [plain ? "yes" : ""] : []),
      json === undefined ? "" : `\`${json}\``,
    ]),
  );
}

const KINDS: Readonly<Record<string, string>> = {
  attempt: "tries",
  frames: "amount",
  complete: "good end",
  guessed: "guessed end",
  truncated: "cut short",
  error: "error",
  loss: "loss",
};

/** The groups of counters: runtimes, and what belongs to none. */
const GROUPS: readonly (readonly [runtime: string, title: string])[] = [
  ...RUNTIMES.map((id) => [id, RUNTIME_ROWS[id].title] as const),
  ["sampler", "The sampler itself"],
  ["waiting", "Sweeps over waiting threads"],
];

function counterTable(runtime: string): string {
  const counters: readonly CounterDefinition[] = counterFile.counters;
  return table(
    ["counter", "kind", "what it counts", "what to do"],
    counters
      .filter((one) => one.runtime === runtime)
      .map(({ name, kind, label, meaning, hint }) => [
        `\`${name}\``,
        KINDS[kind] ?? kind,
        label === undefined ? meaning : `${meaning}; its stacks end in \`[${label}]\``,
        hint,
      ]),
  );
}

/** The views where the keys of a group do something. */
const viewsWith = (group: KeyGroup): string =>
  VIEWS.filter(({ keys }) => keys.includes(group))
    .map(({ id }) => id)
    .join(", ");

const REASON_TEXTS: Readonly<Record<Exclude<Reason, "none">, string>> = {
  cpu: "it could run, and waits for a CPU: whatever it blocked on before is over",
  futex: "a word in memory: conditions, semaphores, locks of runtimes, ends of threads",
  lock: "the same under a lock function of the C library or of .NET; who holds it is known where the lock notes it, see below",
  "file-lock": "flock, fcntl",
  socket: "data or room of one socket, also by a poll or select of it alone",
  accept: "a connection",
  pipe: "data or room of one pipe",
  file: "a file or folder without the disk: a lock in the kernel, a file system in user space",
  disk: "a disk, as the kernel accounts it, or what fsync and its kin wait for",
  fault: "a page of memory that is not there",
  sleep: "time: nanosleep, poll and select of nothing, Thread.Sleep",
  child: "a child process; after vfork in state D",
  poll: "several descriptors at once, or what is none of these: epoll, io_uring, eventfd, timerfd",
  signal: "a signal: pause, sigwait",
  device: "a terminal or another character device",
  ipc: "a semaphore or message queue of System V or POSIX",
  stopped: "a signal or a debugger stopped it",
  unknown: "nothing of these",
};

/** What `-e wait` shows. The rules are those of src/collector/wait-rules.ts. */
const WAITING_PAGE: readonly string[] = [
  "`-e wait`, `-e wall` and the key `e` look at threads that do not run. All threads but those of the kernel are visited ten times a second, up to fifty times where most of them move or only some processes are looked at, less often where that would take more than one percent of a CPU, and then a refresh of `-e wait` comes with the next visit; each visit counts the time since the one before at the stack of the thread. A thread is visited whether it ever wakes or not, and nothing is changed in it: its memory is read through its page tables. Weights are nanoseconds, in every output. `wall` adds the samples of what runs, each for its period. Tasks of asynchronous code that hold no thread are not seen.",
  "A row's self is the innermost function of the application: those of the kernel, the C library, language runtimes and .NET's own assemblies are left out for that; where a stack has no other, it is the innermost one outside of the kernel. Tree and flame have whole stacks.",
  columnTable(WAIT_COLUMNS),
  "A process has these in place of CPU%, by the scheduler's sums of running and of waiting for a CPU, which are exact; which part of the rest is idle is sampled.",
  columnTable(STATE_COLUMNS),
  "What a thread waits for is told by its state, then by the system call that it is in, then by what the descriptor is, then by names of functions. The filter word `why:` takes each word of the reason, several with commas; `state:` takes runnable, blocked, idle, and running with `wall`.",
  table(
    ["reason", "what the thread waits for"],
    REASONS.filter((one) => one !== "none").map((one) => [REASON_LABELS[one], REASON_TEXTS[one]]),
  ),
  "**Idle** is who waits for work; nobody waits for such a thread. Idle waits are left out and counted in the header, until `i`, `--idle` or `state:idle` shows them. The rules, the first that fits:",
  table(
    ["wait", "idle"],
    [
      [
        "for a CPU, a lock, a file lock, a file, a disk, a page; stopped; in state D; on a stack that is not whole",
        "never",
      ],
      [
        "in a known loop: .NET's thread pool, timers and socket engine; libuv and Node's platform, but not Atomics.wait() and spawnSync() of a program; nginx; the parent of Net::Server's preforking servers; PostgreSQL between two commands and in its helpers, but not in its lock manager and in commands; the programs that read files and memory for polytop",
        "always",
      ],
      ["for a connection", "always"],
      ["in a thread with no function of the application on its stack", "always"],
      ["for several descriptors, a child, a signal or a terminal", "once it has lasted a second"],
      [
        "on a futex, as other threads of the process do with the same whole stack",
        "once two of them have lasted a second",
      ],
      [
        "on a futex below Monitor.Wait, Task.Wait or SemaphoreSlim.Wait of an application's method",
        "never",
      ],
      ["all others: sleep, socket, pipe of the application", "never"],
    ],
  ),
  "Evidence: `npm run accuracy idle` starts Debian's nginx, PostgreSQL, Node and Starman and a Kestrel server, with clients that make some of their threads wait for more than work (`pg_sleep`, a locked table, `Atomics.wait`, `spawnSync`, `select`, a pipe, Thread.Sleep, Monitor, SemaphoreSlim, sync over async), and counts what of these is hidden and what of the rest is not. Of the 18 threads of a .NET program, 6 ran no code of the application and 5 were the pool's; left were the six that wait in methods of the application, and Main. A thousand threads of a pool had one stack.",
  "**Who holds a lock** is read anew with every visit, from where the holder left its number: a mutex of glibc, a read-write lock of glibc that a writer holds, a lock that inherits priorities (`FUTEX_LOCK_PI`). The number is believed if it is a thread of the same process; numbers of another PID namespace are translated. Holders of file locks are the processes that /proc/locks names. Readers of a read-write lock leave no number, .NET's locks keep theirs where only the runtime finds it, and open file description locks have no process: there the detail page says so. It shows for each thread that waits in a function for how long, where in the kernel, who holds the lock and what that thread does: where it runs or for what it waits, with its stack. `--json` has the same under `waiting`: `longWaits[].owner` and `holders`.",
  "Waiting is the time in which a thread did not run, which the scheduler knows exactly; it is counted at the stack that the visit meets, or if it runs just then, that the next one meets.",
  "A deadlock is told of as soon as threads that have waited for a tenth of a second are seen to hold what the next one waits for: `deadlock: 12057 ↔ 12058`; of file locks, where the processes have one thread. State D is told of after 10 s. A wait's age counts from the last time that the thread ran, if it waited before polytop began, and is as exact as the visits are frequent.",
];

/** Names of keys that are written in another way than they are called. */
const KEY_NAMES: Readonly<Record<string, string>> = { " ": "space", enter: "⏎" };
const SHORT_NAMES: Readonly<Record<string, string>> = {
  up: "↑",
  down: "↓",
  left: "←",
  right: "→",
  pageup: "PgUp",
  pagedown: "PgDn",
};

const keyName = (key: string): string =>
  KEY_NAMES[key] ??
  SHORT_NAMES[key] ??
  key.replace(/^ctrl-(.)$/, (_, letter: string) => `^${letter.toUpperCase()}`);

/** Whether the label of a line names a key. */
const isNamed = (key: string, label: string): boolean =>
  label.toLowerCase().split(" ").includes(keyName(key).toLowerCase()) || label === keyName(key);

/** docs/snapshot.schema.json. */
export const schemaFile = (): string => `${JSON.stringify(SNAPSHOT, null, 2)}\n`;

/** The page. */
export function referencePage(): string {
  return `${[
    "# Every column, every counter, every key",
    "Made by `npm run docs` from the tables that polytop itself runs by; a test holds them together.",
    "## The header",
    table(["word", "meaning"], HEADER_TERMS),
    "## Functions",
    "Percentages are of the samples of the time shown: of now, which is as many refreshes as hold 300 samples, ten seconds at most; of the last 10 s; or of all since `c`. Where a filter names processes (`pid:`, `comm:`, `user:`, …) they are of the samples of these; a filter of functions (`lang:`, `module:`, a text) leaves them of all samples.",
    columnTable([...FUNCTION_COLUMNS, CHANGE_COLUMN]),
    "## Processes",
    columnTable([...PROCESS_COLUMNS, ...COUNT_COLUMNS]),
    "## Waiting",
    ...WAITING_PAGE,
    "## Keys",
    table(
      ["key", "what it does", "where"],
      BINDINGS.map(({ keys, label, help, group }) => [
        [label, ...keys.filter((key) => !isNamed(key, label)).map(keyName)]
          .map((key) => `\`${key}\``)
          .join(" "),
        help,
        group === undefined ? "everywhere" : viewsWith(group),
      ]),
    ),
    "In a prompt: Enter keeps what was typed, Esc leaves it; Tab completes, ↑ and ↓ bring earlier filters; ← → Home End ^A ^E move the caret, ^W takes a word, ^U all.",
    "## Counters of the unwinders",
    "Each refresh shows by how much they grew. Every sample ends in exactly one of: a good end, cut short, an error, a loss. `--json` holds all of them under `metrics`, those that are 0 too.",
    ...GROUPS.flatMap(([runtime, title]) => [`### ${title}`, counterTable(runtime)]),
  ].join("\n\n")}\n`;
}
