/** The newest kernels of Debian, each in a virtual machine: `npm run kernels` tries more of each. */
import { percent, type Row } from "../../support/measure.ts";
import type { Findings } from "../kernels/findings.ts";
import { areEventsRight, areWaitsRight, isProgramRight } from "../kernels/judge.ts";
import { prepareGuest, runOn } from "../kernels/machine.ts";
import type { Newest, Tried } from "./finding.ts";
import { offeredByDebian } from "./offered.ts";

const add = (values: readonly number[]): number => values.reduce((sum, it) => sum + it, 0);

/** Programs, waits and events as one line. */
function judge({ programs, waits, events, doctor, error }: Findings): Tried {
  const samples = add(programs.map((one) => one.samples));
  const isRight = programs.every(isProgramRight) && areEventsRight(events);
  const row = (what: string, of: number): Row => ({
    what,
    bar: "≥ 99 % of each program, and of events",
    figure: percent(of, samples),
    ok: isRight,
  });
  return {
    notices: [...doctor, error, ...events.wrong].filter(Boolean),
    complete: row("complete", add(programs.map((one) => one.complete))),
    named: row("named", add(programs.map((one) => one.named))),
    shares: {
      what: "waits",
      bar: "60 / 30 / 10, each kind of wait, and the deadlock",
      figure: waits.shares.map((share) => share.toFixed(1)).join(" / "),
      ok: areWaitsRight(waits),
    },
  };
}

export const kernels = (): Newest[] =>
  offeredByDebian("^linux-image-amd64$").map(({ suite, version }) => ({
    what: "Linux",
    version,
    from: suite,
    run: async () => {
      prepareGuest();
      return judge(await runOn(suite));
    },
  }));
