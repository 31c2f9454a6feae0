/** Who holds what threads wait for: named where the lock says it, and nobody where it does not. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { needsSampling, polytop } from "../support/polytop.ts";
import { during, sleep, start } from "../support/profile.ts";
import type { WaitSnapshot } from "../support/waits.ts";
import { workload } from "../support/workloads.ts";

const holders = (...args: string[]) => start(workload("holders.c"), args);

async function look(...args: string[]): Promise<WaitSnapshot & { readonly stderr: string }> {
  const { status, stdout, stderr } = await polytop(
    ["-e", "wait", "--json", "--once", "--rows", "0", ...args],
    { timeoutMs: 60_000 },
  );
  expect(status).toBe(0);
  return { ...(JSON.parse(stdout) as WaitSnapshot), stderr };
}

const ownersOf = ({ waiting }: WaitSnapshot): (number | undefined)[] =>
  waiting.longWaits.filter(({ why }) => why === "lock").map(({ owner }) => owner);

test("the thread that holds mutexes and read-write locks, and what it does", async (context) => {
  needsSampling(context);
  await during([holders("asleep")], async ([pid = -1]) => {
    await sleep(1.2);
    const snapshot = await look("-p", String(pid));
    const owners = ownersOf(snapshot);
    expect(owners).toHaveLength(4);
    const [owner = 0] = owners;
    expect(owners).toEqual([owner, owner, owner, owner]);
    const [holder] = snapshot.waiting.holders;
    expect(holder).toMatchObject({ tid: owner, thread: "holder", does: "sleep" });
    expect(holder?.stack).toEqual(expect.arrayContaining(["sleep_with_locks", "hold"]));
    const names = snapshot.functions.filter(({ why }) => why === "lock").map(({ name }) => name);
    expect(names.sort()).toEqual(["want_inheriting", "want_mutex", "want_reading", "want_writing"]);
  });
});

test("nobody is named by readers, or by a number that is no thread of the process", async (context) => {
  needsSampling(context);
  const fakes = ["1", "-5", String(process.pid)].map((number) => holders("fake", number));
  await during([holders("readers"), ...fakes], async (pids) => {
    await sleep(1.2);
    const snapshot = await look("-p", pids.join());
    expect(ownersOf(snapshot)).toEqual([undefined, undefined, undefined, undefined]);
    expect(snapshot.waiting.deadlocks).toEqual([]);
  });
});

test("processes that wait for each other's files, and a wait in state D", async (context) => {
  needsSampling(context);
  const folder = mkdtempSync(join(tmpdir(), "polytop-holders-"));
  context.onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [one, two] = ["one", "two"].map((name) => join(folder, name)) as [string, string];
  for (const file of [one, two]) writeFileSync(file, "");
  const programs = [
    holders("file", one, two),
    holders("file", two, one),
    start(workload("waits.c"), ["kinds"]),
  ];
  await during(programs, async ([first = -1, second = -1]) => {
    await sleep(11);
    const { waiting, stderr } = await look();
    const ring = [first, second].sort((a, b) => a - b);
    expect(waiting.deadlocks).toContainEqual(ring);
    expect(stderr).toContain(`deadlock: ${ring.join(" ↔ ")} of holders`);
    expect(stderr).toMatch(/thread \d+ of waits\S* in state D for over 10 s, in wait_for_vfork/);
  });
});
