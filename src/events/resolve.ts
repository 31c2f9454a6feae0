/** From events as they were asked for to what this machine counts for them. */
import { existsSync } from "node:fs";
import { EVENT_COUNTER } from "../../build/abi.ts";
import type { ResolvedEvent } from "../addon/events.ts";
import { EXIT_CANNOT, UserError } from "../tick/errors.ts";
import type { EventRequest } from "../tick/event-request.ts";
import { EVENTS, PERF_TYPE_SOFTWARE } from "../tick/events.ts";
import { resolveFunction } from "./functions.ts";
import { resolveKernelFunction } from "./kernel-functions.ts";
import type { SearchContext } from "./probed-files.ts";
import { resolveLine } from "./source-lines.ts";
import { resolveStaticProbe } from "./static-probes.ts";
import { Tracepoints } from "./tracepoints.ts";

/** Where the kernel says that it knows the counters of the processor; other processors have several of them. */
const PMU_PLACES = ["cpu", "cpu_core", "cpu_atom", "armv8_pmuv3_0"].map(
  (name) => `/sys/bus/event_source/devices/${name}`,
);

/** Whether the processor's counters can be had. */
export const hasCounters = (): boolean => PMU_PLACES.some((place) => existsSync(place));

/** Resolves to what is counted for each request; throws a UserError that says what is not to be had, and why. */
export function resolveEvents(
  requests: readonly EventRequest[],
  context: SearchContext,
): ResolvedEvent[] {
  let tracepoints: Tracepoints | undefined;
  return requests.map((request): ResolvedEvent => {
    if (request.kind === "time") return { name: request.text, unit: EVENTS[request.event].unit };
    if (request.kind === "counter") return counter(request);
    if (request.kind === "tracepoint") {
      tracepoints ??= new Tracepoints(context.addon);
      return tracepoints.resolve(request);
    }
    if (request.kind === "function") return resolveFunction(request, context);
    if (request.kind === "line") return resolveLine(request, context);
    if (request.kind === "usdt") return resolveStaticProbe(request, context);
    return resolveKernelFunction(request);
  });
}

function counter({ text, row, modifiers }: EventRequest & { kind: "counter" }): ResolvedEvent {
  const isSoftware = row.type === PERF_TYPE_SOFTWARE;
  if (!isSoftware && !hasCounters()) {
    throw new UserError(
      `no ${text}: there is no PMU in this machine, or its hypervisor keeps it\nSoftware events and tracepoints are there: \`polytop list events\``,
      EXIT_CANNOT,
    );
  }
  return {
    name: text,
    unit: "events",
    setup: {
      name: text,
      kind: EVENT_COUNTER,
      type: row.type,
      config: row.config,
      modifiers,
      hasOwnPeriod: !isSoftware,
    },
  };
}
