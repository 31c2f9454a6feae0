/** What a refresh of a recording adds to those before it: everything comes once and is referred to by number then. */
import type { ColumnName } from "../tick/store.ts";
import { Stores } from "../tick/stores.ts";
import type { Counts, FunctionInfo, Task, Tick, TickHeader } from "../tick/tick.ts";

/** The part of a refresh that is new. Columns are those of a Store, but frames have the ids of functions. */
export interface TickDelta {
  readonly header: TickHeader;
  /** Says that a new store begins: all numbering but that of functions starts anew. */
  readonly renewed: boolean;
  /** Functions that no delta before it had. */
  readonly functions: readonly FunctionInfo[];
  readonly texts: readonly string[];
  /** The arrays are given away: the store takes them in and gives back their memory. */
  readonly columns: Readonly<Record<ColumnName, Uint32Array<ArrayBuffer>>>;
  readonly tasks: readonly Task[];
  readonly counts: Counts;
  /** The counts of the events behind the first. */
  readonly others?: readonly Counts[];
}

/** Makes ticks of deltas, which must come in order, none left out, and are used up. */
export class TickAssembler {
  readonly #stores = new Stores();

  assemble({ header, renewed, functions, texts, columns, tasks, counts, others }: TickDelta): Tick {
    if (renewed) this.#stores.renew([]);
    const store = this.#stores.latest;
    store.addFunctions(functions);
    store.append(columns);
    for (const text of texts) store.texts.push(text);
    for (const task of tasks) store.addTask(task);
    return { ...header, counts, ...(others ? { others } : {}), store };
  }
}
