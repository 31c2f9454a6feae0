/** Probes that are written into programs (USDT). */
import { EVENT_FUNCTION } from "../../build/abi.ts";
import type { ResolvedEvent } from "../addon/events.ts";
import type { EventRequest } from "../tick/event-request.ts";
import { didYouMean } from "./closest.ts";
import { matcher } from "./pattern.ts";
import {
  cannot,
  checkUprobes,
  eachFile,
  filesFor,
  placesByFile,
  type SearchContext,
} from "./probed-files.ts";

/** Finds the probes that authors put into programs (USDT). Throws a UserError where there are none. */
export function resolveStaticProbe(
  { text, file, provider, probe }: EventRequest & { kind: "usdt" },
  context: SearchContext,
): ResolvedEvent {
  checkUprobes(text);
  const files = filesFor(file, context, text);
  const [isProvider, isProbe] = [matcher(provider), matcher(probe)];
  const all = eachFile(files, text, (path) =>
    context.addon.listStaticProbes(path).map((one) => ({ ...one, path })),
  );
  const found = all.filter((one) => isProvider(one.provider) && isProbe(one.name));
  if (found.length === 0) {
    const names = [...new Set(all.map((one) => `${one.provider}:${one.name}`))];
    const has = didYouMean(`${provider}:${probe}`, names) || `it has ${names.length}`;
    throw cannot(
      names.length === 0
        ? `${text}: ${files.join(", ") || "no file"} has no static probes (USDT)`
        : `${text}: there is no such static probe; ${has}`,
    );
  }
  return {
    name: text,
    unit: "events",
    setup: { name: text, kind: EVENT_FUNCTION, files: placesByFile(text, found, context.addon) },
  };
}
