/**
 * What polytop costs on this machine, in the kernel, in the process and on the terminal.
 * Run with the project's Node: node test/tools/bench/main.ts [section…]
 * Others who use the machine at the same time raise the figures: the load average stands beside them.
 */
import { measure } from "../../support/measure.ts";
import { bpf } from "./bpf.ts";
import { floors } from "./floor.ts";
import { growth } from "./growth.ts";
import { keyDelays } from "./keys.ts";
import { processCosts } from "./process.ts";
import { soaks } from "./soak.ts";
import { sourceSwitches } from "./sources.ts";
import { startTimes } from "./start.ts";
import { viewCosts } from "./view.ts";
import { viewRefreshes } from "./views.ts";
import { waitCosts } from "./waits.ts";

await measure([
  ...bpf,
  ...processCosts,
  ...floors,
  ...growth,
  ...waitCosts,
  ...viewCosts,
  ...soaks,
  ...viewRefreshes,
  ...keyDelays,
  ...sourceSwitches,
  ...startTimes,
]);
process.exit(0);
