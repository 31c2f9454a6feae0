/** Events other than the CPU's time: how often functions were called, who called them, and what is refused. */
import { expect, test } from "vitest";
import { launcher, needsSampling, polytop } from "../support/polytop.ts";
import type { Snapshot } from "../support/profile.ts";
import { workload } from "../support/workloads.ts";

const ROUNDS = 100_000;

interface EventSnapshot extends Snapshot {
  readonly by?: Readonly<Record<string, { readonly samples: number }>>;
}

/** What `polytop --json` says of a command that it starts and counts events of; `event` may have options after it. */
async function count(event: string | readonly string[], ...command: string[]) {
  const args = ["--json", "--rows", "0", "-e", ...[event].flat(), "--", ...command];
  const { status, stdout, stderr } = await polytop(args);
  const lines = stdout.split("\n").filter((line) => line.startsWith('{"schema"'));
  const snapshots = lines.map((line) => JSON.parse(line) as EventSnapshot);
  const sum = (of: (snapshot: EventSnapshot) => number): number =>
    snapshots.reduce((all, snapshot) => all + of(snapshot), 0);
  const totalOf = (name: string): number =>
    sum(({ functions }) =>
      functions.reduce((all, row) => all + (row.name === name ? row.total : 0), 0),
    );
  const beside = (name: string): number => sum(({ by }) => by?.[name]?.samples ?? 0);
  return { status, stderr, hits: sum(({ samples }) => samples), totalOf, beside };
}

test("calls of two functions are counted side by side, and the command's status is kept", async (context) => {
  needsSampling(context);
  const program = workload("hits.c");
  const [often, seldom] = ["often", "seldom"].map((name) => `uprobe:${program}:${name}`);
  const found = await count(`${often},${seldom}`, program, `${ROUNDS}`);
  if (found.status === 3 && /no uprobes|without uprobes/.test(found.stderr)) {
    context.skip(found.stderr);
  }
  expect(found.status, found.stderr).toBe(3);
  // Some hits stand for others: there are too many to look at each.
  expect(found.hits / ROUNDS).toBeGreaterThan(0.98);
  expect(found.hits / ROUNDS).toBeLessThan(1.02);
  expect(found.beside(seldom ?? "") / (ROUNDS / 4)).toBeGreaterThan(0.98);
  expect(found.beside(seldom ?? "") / (ROUNDS / 4)).toBeLessThan(1.02);
  expect(found.totalOf("work") / found.hits).toBeGreaterThan(0.9);
});

test("a line is counted wherever it was inlined", async (context) => {
  needsSampling(context);
  const program = workload("places.c", { as: "places-gcc", flags: ["-g"] });
  // By default some 350 of the hits are walked: the share of a third then errs by 0.025 in each third run.
  const found = await count(["uprobe:places.c:7", "-F", "9999"], program, `${ROUNDS}`);
  if (found.status === 3 && /without uprobes/.test(found.stderr)) context.skip(found.stderr);
  expect(found.status, found.stderr).toBe(0);
  // Each round, and each second one.
  expect(found.hits / (1.5 * ROUNDS)).toBeGreaterThan(0.98);
  expect(found.hits / (1.5 * ROUNDS)).toBeLessThan(1.02);
  expect(found.totalOf("even") / found.hits).toBeGreaterThan(0.28);
  expect(found.totalOf("even") / found.hits).toBeLessThan(0.38);
});

test("the files of a command are read before it starts", async (context) => {
  needsSampling(context);
  const command = ["perl", "-e", "$i++ while $i < 600_000"];
  const { status, stdout, stderr } = await polytop(["--json", "-F", "999", "--", ...command]);
  expect(status, stderr).toBe(0);
  const snapshots = stdout.split("\n").filter((line) => line.startsWith('{"schema"'));
  const outcomes = snapshots.map((line) => JSON.parse(line) as EventSnapshot);
  const sum = (of: (one: EventSnapshot) => number) =>
    outcomes.reduce((all, one) => all + of(one), 0);
  const samples = sum((one) => one.samples);
  expect(samples).toBeGreaterThan(5);
  // One may be met in the middle of an exec.
  expect(sum(({ stacks }) => stacks.complete)).toBeGreaterThanOrEqual(samples - 1);
});

test("system calls of a Perl sub are counted in it", async (context) => {
  needsSampling(context);
  const script =
    "sub put { syswrite(STDERR, '') } for (1 .. 3000) { put(); select(undef, undef, undef, 0.0005) }";
  const found = await count("syscalls:sys_enter_write", "perl", "-e", script);
  expect(found.status, found.stderr).toBe(0);
  expect(found.hits).toBeGreaterThan(2900);
  expect(found.hits).toBeLessThan(3200);
  expect(found.totalOf("main::put") / found.hits).toBeGreaterThan(0.8);
});

test("tracepoints are there for root where nobody has mounted their file system", async (context) => {
  needsSampling(context);
  const places = "/sys/kernel/tracing /sys/kernel/debug/tracing";
  const script = `for place in ${places}; do umount -q -l $place; done; exec "$0" --once -e syscalls:sys_enter_wrote`;
  const refused = await polytop(["--mount", "/bin/sh", "-c", script, launcher], {
    command: "/usr/bin/unshare",
  });
  expect(refused.stderr).toContain("did you mean syscalls:sys_enter_write");
  expect(refused.status).toBe(3);
});

test.for([
  ["nosuch", 2, "is no event"],
  ["syscalls:sys_enter_wrote", 3, "did you mean syscalls:sys_enter_write"],
  ["uprobe:libc:mallok", 3, "did you mean malloc"],
  ["usdt:libc:no:probe", 3, "static probe"],
] as const)("%s is refused with status %i", async ([event, status, words], context) => {
  needsSampling(context);
  const refused = await polytop(["--once", "-e", event]);
  expect(refused).toMatchObject({ status, stdout: "" });
  expect(refused.stderr).toContain(words);
});

test("what matches is listed", async () => {
  const functions = await polytop(["list", "functions", "libc:pthread_mutex_lo*"]);
  expect(functions.stdout).toMatch(/^uprobe:\/.*libc.*:pthread_mutex_lock$/m);
  const events = await polytop(["list", "events", "page-faults"]);
  expect(events).toMatchObject({ status: 0, stdout: "page-faults\n" });
});
