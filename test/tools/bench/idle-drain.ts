/** What the addon is beside the rest of polytop: it samples, and nobody looks at what is drained once a second. */
import { setTimeout as after } from "node:timers/promises";
import { EVENTS } from "../../../src/tick/events.ts";
import { builtAddon } from "../../support/addon.ts";
import { dist } from "../../support/polytop.ts";

const sampler = new (builtAddon().Sampler)({
  objectPath: `${dist}polytop.bpf.o`,
  sources: EVENTS.cpu.sources,
  frequency: Number(process.argv[2]),
  drainSeconds: 1,
  targets: [],
  byFunction: true,
});
for (;;) {
  await after(1000);
  await sampler.drain();
  sampler.takeMethods();
}
