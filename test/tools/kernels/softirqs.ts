/**
 * Softirqs on a CPU of the virtual machine that has nothing else to do: Debian's kernels run the sampling event there.
 * The kernel's own account is told beside; it is of ticks, which an idle CPU has not.
 */
import { copyFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { busySeconds, withSteeredLoopback } from "../../support/cpu-time.ts";
import { during, sampleJson, start } from "../../support/profile.ts";
import { type ChangeFindings, FILES } from "./findings.ts";

const REFRESHES = 10;
const SPARE_SECONDS = 180;

const add = (values: readonly number[]): number => values.reduce((sum, it) => sum + it, 0);

export async function findSoftirqs(): Promise<ChangeFindings> {
  const sender = join(tmpdir(), "datagrams");
  copyFileSync(FILES.datagrams, sender);
  const looks: { readonly busy: number; readonly time: number }[] = [];
  const { snapshots } = await withSteeredLoopback(() =>
    during([start(sender)], () =>
      sampleJson({
        seconds: REFRESHES,
        spareSeconds: SPARE_SECONDS,
        onLine: () => looks.push({ busy: busySeconds(), time: performance.now() }),
      }),
    ),
  );
  const [first, last] = [looks[0], looks.at(-1)];
  const theirs =
    first && last ? (1000 * (last.busy - first.busy)) / (last.time - first.time) : Number.NaN;
  const counted = snapshots.slice(1);
  const samples = add(counted.map((it) => (it.samples + it.missed) / it.frequency));
  const ours = samples / add(counted.map((it) => it.intervalSeconds));
  const met = add(
    counted.flatMap((it) => it.processes.filter(({ pid }) => pid === 0).map((row) => row.samples)),
  );
  const unmet = add(counted.map((it) => it.metrics.UnwindKernelErrNotSampled ?? 0));
  return {
    what: `softirqs, ${ours.toFixed(2)} : ${theirs.toFixed(2)} CPUs`,
    wrong: [
      ...(met > 0 ? [] : ["none is met on an idle CPU"]),
      ...(unmet > 0 ? [`${unmet} are told by the kernel's account alone`] : []),
    ],
  };
}
