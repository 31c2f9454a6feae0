/** Weights by id, of which many sets are kept: a set that is complete takes 8 bytes for each, a map some 40. */
import { firstWhere } from "../tick/binary-search.ts";

/** A set that still grows is a map; a complete one is two columns, in the order of the ids. */
export class WeightsById {
  #growing: Map<number, number> | undefined = new Map();
  #ids = new Uint32Array();
  #weights = new Float32Array();

  /** Adds to the weight of an id; throws an Error where the set is complete. */
  add(id: number, weight: number): void {
    if (!this.#growing) throw new Error("weights that are complete are final");
    this.#growing.set(id, (this.#growing.get(id) ?? 0) + weight);
  }

  /** Nothing is added any more. Whole numbers stay exact up to 2^24, as a Float32Array holds them. */
  complete(): void {
    const growing = this.#growing;
    if (!growing) return;
    this.#ids = Uint32Array.from(growing.keys()).sort();
    this.#weights = Float32Array.from(this.#ids, (id) => growing.get(id) ?? 0);
    this.#growing = undefined;
  }

  /** The weight of an id, 0 where it has none. */
  of(id: number): number {
    if (this.#growing) return this.#growing.get(id) ?? 0;
    const ids = this.#ids;
    const at = firstWhere(0, ids.length, (index) => (ids[index] ?? 0) >= id);
    return ids[at] === id ? (this.#weights[at] ?? 0) : 0;
  }
}
