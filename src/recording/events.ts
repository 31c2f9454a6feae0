/** The events of a tick, as ./format.ts describes them. */
import { cleanName } from "../tick/clean-name.ts";
import type { EventInfo, Tick } from "../tick/tick.ts";
import type { ByteReader, ByteWriter } from "./bytes.ts";
import { LIMITS } from "./format.ts";

/** Writes which events a tick counts; the counts of all but the first follow. */
export function writeEvents(out: ByteWriter, { events = [] }: Tick): void {
  out.uint(events.length);
  for (const { name, unit, period, samples, missed } of events) {
    out.text(name);
    out.text(unit);
    for (const amount of [period, samples, missed]) out.number(amount);
  }
}

/** Reads them; nothing where the tick counts no events beside the CPU's time. */
export function readEvents(reader: ByteReader): readonly EventInfo[] | undefined {
  const count = reader.count(LIMITS.events, "events");
  if (count === 0) return undefined;
  return Array.from({ length: count }, () => ({
    name: cleanName(reader.bytes(LIMITS.stringBytes)),
    unit: cleanName(reader.bytes(LIMITS.stringBytes)),
    period: reader.amount(),
    samples: reader.amount(),
    missed: reader.amount(),
  }));
}
