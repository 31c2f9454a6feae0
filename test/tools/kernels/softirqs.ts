/**
 * Softirqs on a CPU of the virtual machine that has nothing else to do: Debian's kernels run the sampling event there.
 * The kernel's own account is told beside; it is of ticks, which an idle CPU has not.
 */
import { copyFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { busySeconds, idleSeconds, withSteeredLoopback } from "../../support/cpu-time.ts";
import { during, sampleJson, start } from "../../support/profile.ts";
import { type ChangeFindings, FILES } from "./findings.ts";

const REFRESHES = 10;
const SPARE_SECONDS = 180;

const add = (values: readonly number[]): number => values.reduce((sum, it) => sum + it, 0);

/** The least part of the time in which a CPU must have been idle for its softirqs to be told apart from its programs'. */
const LEAST_IDLE = 0.1;

/** Where the machine around is busy, polytop itself may keep both emulated CPUs busy for a while. */
const ATTEMPTS = 3;

interface Look {
  readonly busy: number;
  readonly idle: number;
  readonly time: number;
}

/** What was found in some refreshes; `idle`: the part of the time in which the second CPU was. */
interface Found {
  readonly ours: number;
  readonly theirs: number;
  readonly idle: number;
  readonly met: number;
  readonly unmet: number;
}

async function look(sender: string): Promise<Found> {
  const looks: Look[] = [];
  const { snapshots } = await during([start(sender)], () =>
    sampleJson({
      seconds: REFRESHES,
      spareSeconds: SPARE_SECONDS,
      onLine: () =>
        looks.push({ busy: busySeconds(), idle: idleSeconds(1), time: performance.now() }),
    }),
  );
  const [first, last] = [looks[0], looks.at(-1)];
  const rate = (key: "busy" | "idle"): number =>
    first && last ? (1000 * (last[key] - first[key])) / (last.time - first.time) : Number.NaN;
  const counted = snapshots.slice(1);
  const samples = add(counted.map((it) => (it.samples + it.missed) / it.frequency));
  return {
    ours: samples / add(counted.map((it) => it.intervalSeconds)),
    theirs: rate("busy"),
    idle: rate("idle"),
    met: add(
      counted.flatMap((it) =>
        it.processes.filter(({ pid }) => pid === 0).map((row) => row.samples),
      ),
    ),
    unmet: add(counted.map((it) => it.metrics.UnwindKernelErrNotSampled ?? 0)),
  };
}

export async function findSoftirqs(): Promise<ChangeFindings> {
  const sender = join(tmpdir(), "datagrams");
  copyFileSync(FILES.datagrams, sender);
  const found = await withSteeredLoopback(async () => {
    let latest = await look(sender);
    for (let more = ATTEMPTS - 1; more > 0 && latest.met === 0; more--) latest = await look(sender);
    return latest;
  });
  const { ours, theirs, idle, met, unmet } = found;
  const isTried = met > 0 || idle >= LEAST_IDLE;
  return {
    what: `softirqs, ${ours.toFixed(2)} : ${theirs.toFixed(2)} CPUs${isTried ? "" : ", none idle"}`,
    wrong: [
      ...(met > 0 || !isTried ? [] : ["none is met on an idle CPU"]),
      ...(unmet > met ? [`${unmet} are told by the kernel's account alone`] : []),
    ],
  };
}
