/** How polytop's cost grows with the machine. */
import { cpus } from "node:os";
import { withStats } from "../../support/bpftool.ts";
import { compileLoop, hotLoops, podLoops } from "../../support/loads.ts";
import { percent, type Row, type Section } from "../../support/measure.ts";
import { during, type Running, sleep } from "../../support/profile.ts";
import { CROWD } from "./loads.ts";
import { type Cost, cost } from "./process.ts";

const MEASURED_SECONDS = 12;
const FREQUENCY = 99;
/** As many samples as so many CPUs have at 99 Hz are taken of this machine's by a higher frequency. */
const CPUS = [2, 8, 32, 64, 128];

function figures({ process, bpf, ticks, samples, complete, rssBytes, mapBytes }: Cost): string {
  const memory = `${(rssBytes / 1e6).toFixed(0)} MB, maps ${(mapBytes / 1e6).toFixed(1)} MB`;
  return `${process.toFixed(2)} %, BPF and ticks ${(bpf + ticks).toFixed(2)} %, ${memory}, complete ${percent(complete, samples)}`;
}

async function grown(what: string, start: () => readonly Running[]): Promise<Row[]> {
  return during(start(), () =>
    withStats(async () => {
      await sleep(1);
      const rows: Row[] = [];
      for (const count of CPUS) {
        const frequency = Math.round((FREQUENCY * count) / cpus().length);
        const found = await cost(frequency, MEASURED_SECONDS);
        const microseconds = (1e4 * found.process * MEASURED_SECONDS) / found.samples;
        rows.push({
          what: `${what}: as many samples as of ${count} CPUs`,
          bar: "",
          figure: `${microseconds.toFixed(1)} µs a sample: ${figures(found)}`,
          samples: found.samples,
        });
      }
      return rows;
    }),
  );
}

async function crowded(): Promise<Row[]> {
  return during(CROWD.start(), () =>
    withStats(async () => {
      await sleep(10);
      const found = await cost(FREQUENCY, MEASURED_SECONDS);
      return [{ what: CROWD.title, bar: "", figure: figures(found), samples: found.samples }];
    }),
  );
}

export const growth: readonly Section[] = [
  {
    name: "growth",
    about: "cost by how much there is to count: many CPUs, many processes",
    onlyByName: true,
    run: async () => [
      ...(await grown("few stacks", hotLoops)),
      ...(await grown("Pod::Man", podLoops)),
      ...(await grown("C++ compile", () => [compileLoop()])),
      ...(await crowded()),
    ],
  },
];
