/** Own and total samples of functions, added up over any number of ticks. */
import type { FunctionInfo, Tick } from "../tick/tick.ts";
import type { Reason } from "../tick/waits.ts";
import type { Aggregate, FunctionRow } from "./aggregate.ts";
import type { Sum } from "./covered.ts";

interface Entry {
  readonly function: FunctionInfo;
  self: number;
  total: number;
  awaits: boolean;
  line: number | undefined;
  why: Reason | undefined;
  /** What the latest tick with it had, where rows may be kept. */
  latest: FunctionRow | undefined;
  /** When that was. */
  time: number;
}

/**
 * Beyond so many functions, or characters of their names, a sum of all that ran since the start keeps the larger ones,
 * half as much: processes make ever new ones.
 */
const MOST = { functions: 20_000, characters: 4_000_000 };

/** Sums of aggregates; processes, whose number has no bound, are known of the latest tick with a function at most. */
export class FunctionSums implements Sum {
  readonly #aggregate: (tick: Tick) => Aggregate;
  readonly #keepsRows: boolean;
  readonly #entries = new Map<number, Entry>();
  #characters = 0;
  samples = 0;

  /** `keepsRows`: the sum is of a few ticks, whose rows are kept anyway. */
  constructor(aggregate: (tick: Tick) => Aggregate, keepsRows = false) {
    this.#aggregate = aggregate;
    this.#keepsRows = keepsRows;
  }

  add(tick: Tick, sign: 1 | -1): void {
    const all = this.#aggregate(tick);
    this.samples += sign * all.samples;
    for (const row of all.functions) {
      const { id } = row.function;
      let entry = this.#entries.get(id);
      if (!entry) {
        const none = { line: undefined, why: undefined, latest: undefined, time: 0 };
        entry = { function: row.function, self: 0, total: 0, awaits: true, ...none };
        this.#entries.set(id, entry);
        this.#characters += row.function.name.length;
      }
      entry.self += sign * row.self;
      entry.total += sign * row.total;
      entry.awaits &&= row.awaits ?? false;
      if (entry.total <= 0) this.#forget(entry);
      if (row.line !== undefined) entry.line = row.line;
      if (row.why !== undefined) entry.why = row.why;
      // Older ticks are added after newer ones where a sum is caught up with.
      if (this.#keepsRows && sign > 0 && tick.time >= entry.time) {
        entry.latest = row;
        entry.time = tick.time;
      }
    }
  }

  /** Forgets the functions with the fewest samples, where there are very many; nothing may be taken out afterwards. */
  forgetLeast(): void {
    if (!this.#exceeds(1)) return;
    for (const entry of [...this.#entries.values()].sort((a, b) => a.total - b.total)) {
      if (!this.#exceeds(1 / 2)) break;
      this.#forget(entry);
    }
  }

  /** Whether there is more than so many times what may be. */
  #exceeds(times: number): boolean {
    return (
      this.#entries.size > times * MOST.functions || this.#characters > times * MOST.characters
    );
  }

  #forget({ function: { id, name } }: Entry): void {
    this.#entries.delete(id);
    this.#characters -= name.length;
  }

  /** Own and total samples of a function. */
  of(id: number): { readonly self: number; readonly total: number } | undefined {
    return this.#entries.get(id);
  }

  /** A row for each function; the processes are those of `now`, else of the latest tick with it where that is known. */
  rows(now: Aggregate): FunctionRow[] {
    const current = new Map(now.functions.map((row) => [row.function.id, row]));
    const rows: FunctionRow[] = [];
    for (const entry of this.#entries.values()) {
      const row = current.get(entry.function.id);
      const line = row?.line ?? entry.line;
      const why = row?.why ?? entry.why;
      rows.push({
        function: entry.function,
        self: entry.self,
        total: entry.total,
        ...(entry.awaits ? { awaits: true } : {}),
        ...(line === undefined ? {} : { line }),
        ...(row?.note === undefined ? {} : { note: row.note }),
        ...(why === undefined ? {} : { why }),
        pids: (row ?? entry.latest)?.pids ?? [],
        processCount: (row ?? entry.latest)?.processCount ?? 0,
      });
    }
    return rows;
  }
}
