/** The stores of a source, one after the other: functions and process trees outlive them. */
import { Family } from "./family.ts";
import { Functions } from "./functions.ts";
import { Store } from "./store.ts";

export class Stores {
  readonly #functions = new Functions();
  readonly #family = new Family();
  #latest = new Store(this.#functions, this.#family);
  /** Stores that somebody may still look at: a frozen screen, a history, a sum. */
  #older: WeakRef<Store>[] = [];

  get latest(): Store {
    return this.#latest;
  }

  /** Begins a new store. `forgotten`: ids of functions that nothing refers to from now on until they are added again. */
  renew(forgotten: readonly number[]): void {
    this.#older.push(new WeakRef(this.#latest));
    this.#latest = new Store(this.#functions, this.#family);
    this.#functions.leave(forgotten);
    this.#older = this.#older.filter((store) => store.deref() !== undefined);
    if (!this.#functions.hasLeaving) return;
    const used = new Uint8Array(this.#functions.length);
    for (const store of this.#older) store.deref()?.markFunctions(used);
    this.#functions.forget(used);
  }
}
