/** Machines that lack something while polytop runs: it goes on, or says in a line what is wrong. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { launcher, needsSampling, polytop, root } from "../support/polytop.ts";

/** Runs polytop in a mount namespace of its own, behind commands that take something away. */
const without = (setUp: string, args: readonly string[]) =>
  polytop(
    ["-m", "--propagation", "private", "sh", "-c", `${setUp}; exec "$@"`, "sh", launcher, ...args],
    {
      command: "unshare",
      timeoutMs: 110_000,
    },
  );

const canUnshare = spawnSync("unshare", ["-m", "true"]).status === 0;

const TIMEOUT = { timeout: 120_000 };

const JSON_LINES = ["--json", "-n", "2", "-d", "0.5"];

test.for([
  [
    "a home that cannot be written to",
    'mount --bind "$HOME" "$HOME" && mount -o remount,ro,bind "$HOME"',
  ],
  [
    "no room in /tmp",
    // The clone itself may lie in /tmp.
    `mount --bind ${root} /mnt && mount -t tmpfs -o size=4k none /tmp && mkdir -p ${root} &&
      mount --bind /mnt ${root} && dd if=/dev/zero of=/tmp/all bs=4k 2>/dev/null`,
  ],
  [
    "no room for copies, and no cache",
    "mount -t tmpfs -o size=4k,mode=0 none /var/tmp; unset HOME",
  ],
  ["processes that are hidden", "mount -t proc -o hidepid=invisible proc /proc"],
  ["few open files", "ulimit -n 256"],
  ["few addresses", "ulimit -v 2000000"],
  ["little memory for data", "ulimit -d 1500000"],
  ["no tracing file system", "mount -t tmpfs none /sys/kernel/tracing"],
])("%s: it goes on", TIMEOUT, async ([, setUp = ""], context) => {
  needsSampling(context);
  if (!canUnshare) return context.skip("no mount namespace can be made here");
  const { status, stdout, stderr } = await without(setUp, JSON_LINES);
  expect(stderr).not.toMatch(/ at .*:\d+:\d+|Error:/);
  expect(status).toBe(0);
  const lines = stdout.trimEnd().split("\n");
  expect(lines).toHaveLength(2);
  for (const line of lines) expect(JSON.parse(line).samples).toBeGreaterThanOrEqual(0);
});

test("a disk without room for the recording: a line and status 1", TIMEOUT, async (context) => {
  needsSampling(context);
  if (!canUnshare) return context.skip("no mount namespace can be made here");
  const setUp =
    "mount -t tmpfs -o size=8k none /mnt && dd if=/dev/zero of=/mnt/all bs=4k 2>/dev/null";
  const args = ["record", "-o", "/mnt/a.polytop", "-n", "3", "-d", "0.5"];
  const { status, stderr } = await without(setUp, args);
  expect(stderr).toMatch(/\/mnt\/a\.polytop.*(full|no space)/i);
  expect(stderr.trimEnd().split("\n").length).toBeLessThanOrEqual(2);
  expect(status).toBe(1);
});

test.for(["ulimit -v 1999999", "ulimit -d 1499999"])(
  "too little memory to start, %s: a line that says so",
  TIMEOUT,
  async (setUp, context) => {
    if (!canUnshare) return context.skip("no mount namespace can be made here");
    const { status, stderr } = await without(setUp, JSON_LINES);
    expect(stderr).toMatch(
      /^polytop: memory is limited to \d+ kB, .*`ulimit -[vd] unlimited`.*\n$/,
    );
    expect(status).toBe(3);
  },
);

test("too few open files to start: a line that says so", TIMEOUT, async (context) => {
  needsSampling(context);
  const { status, stderr } = await without("ulimit -n 24", JSON_LINES);
  expect(stderr).toMatch(/^polytop: open files are limited to 24, polytop needs \d+: .*\n$/);
  expect(status).toBe(3);
});

test("stdout on a full disk: a line and status 1", TIMEOUT, async (context) => {
  needsSampling(context);
  const { status, stderr } = await polytop(
    ["-c", '"$0" --json -n 2 -d 0.5 > /dev/full', launcher],
    {
      command: "sh",
    },
  );
  expect(stderr).toMatch(/ENOSPC|no space|full/i);
  expect(stderr.trimEnd().split("\n").length).toBeLessThanOrEqual(2);
  expect(status).toBe(1);
});
