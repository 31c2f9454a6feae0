/** Counts by two keys, for the inner loop of the aggregate. */
import { grown } from "../tick/columns/numbers.ts";

const FIRST_ROOM = 1024;

/** Counts by (function, second key) as linked lists in arrays that grow. Most refreshes have none of some kinds. */
export class CountLists {
  private keys: Int32Array = new Int32Array(0);
  private counts = new Float64Array(0);
  private next: Int32Array = new Int32Array(0);
  private used = 1;
  private heads: Int32Array = new Int32Array(0);
  /** The length of the arrays, as in Numbers. */
  private room = 0;
  private slots = 0;

  /** Adds to the entry of a key: walks those of the slot, which are few. */
  add(slot: number, key: number, count: number): void {
    for (let at = this.heads[slot] ?? 0; at !== 0; at = this.next[at] ?? 0) {
      if (this.keys[at] === key) {
        this.counts[at] = (this.counts[at] ?? 0) + count;
        return;
      }
    }
    this.push(slot, key, count);
  }

  /** Puts an entry for a key that this slot does not have yet. */
  push(slot: number, key: number, count: number): void {
    if (slot >= this.slots) {
      this.heads = grown(this.heads, Math.max(slot + 1, FIRST_ROOM));
      this.slots = this.heads.length;
    }
    if (this.used >= this.room) this.grow();
    const at = this.used++;
    this.keys[at] = key;
    this.counts[at] = count;
    this.next[at] = this.heads[slot] ?? 0;
    this.heads[slot] = at;
  }

  /** Entries of a slot, most first. */
  entries(slot: number): { key: number; count: number }[] {
    const found: { key: number; count: number }[] = [];
    for (let at = this.heads[slot] ?? 0; at !== 0; at = this.next[at] ?? 0) {
      found.push({ key: this.keys[at] ?? 0, count: this.counts[at] ?? 0 });
    }
    return found.sort((a, b) => b.count - a.count || a.key - b.key);
  }

  /** The key with the most, without making a list. */
  busiest(slot: number): number | undefined {
    let best = 0;
    for (let at = this.heads[slot] ?? 0; at !== 0; at = this.next[at] ?? 0) {
      const more = (this.counts[at] ?? 0) - (this.counts[best] ?? 0);
      if (best === 0 || more > 0 || (more === 0 && (this.keys[at] ?? 0) < (this.keys[best] ?? 0))) {
        best = at;
      }
    }
    return best === 0 ? undefined : this.keys[best];
  }

  private grow(): void {
    this.room = Math.max(this.room * 2, FIRST_ROOM);
    this.keys = grown(this.keys, this.room);
    this.next = grown(this.next, this.room);
    this.counts = grownWeights(this.counts, this.room);
  }
}

/** Copies weights into an array with room for at least `size`, doubled so that growing is rare. */
export function grownWeights(
  array: Float64Array<ArrayBuffer>,
  size: number,
): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(Math.max(size, array.length * 2));
  larger.set(array);
  return larger;
}
