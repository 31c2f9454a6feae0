/** Counts by two keys, for the inner loop of the aggregate. */

/** Counts by (function, second key) as linked lists in arrays that grow. */
export class CountLists {
  private keys = new Int32Array(1024);
  private counts = new Float64Array(1024);
  private next = new Int32Array(1024);
  private used = 1;
  readonly heads: Int32Array;

  constructor(slots: number) {
    this.heads = new Int32Array(slots);
  }

  add(slot: number, key: number, count: number): void {
    const head = this.heads[slot] ?? 0;
    // Mostly the key that came last; ticks list a process's stacks one after the other.
    for (let at = head; at !== 0; at = this.next[at] ?? 0) {
      if (this.keys[at] === key) {
        this.counts[at] = (this.counts[at] ?? 0) + count;
        return;
      }
    }
    if (this.used === this.keys.length) this.grow();
    const at = this.used++;
    this.keys[at] = key;
    this.counts[at] = count;
    this.next[at] = head;
    this.heads[slot] = at;
  }

  /** Adds to the newest entry when it has this key, else puts a new one before it. */
  addLatest(slot: number, key: number, count: number): void {
    const head = this.heads[slot] ?? 0;
    if (head !== 0 && this.keys[head] === key) {
      this.counts[head] = (this.counts[head] ?? 0) + count;
      return;
    }
    if (this.used === this.keys.length) this.grow();
    const at = this.used++;
    this.keys[at] = key;
    this.counts[at] = count;
    this.next[at] = head;
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
    const size = this.keys.length * 2;
    const keys = new Int32Array(size);
    const counts = new Float64Array(size);
    const next = new Int32Array(size);
    keys.set(this.keys);
    counts.set(this.counts);
    next.set(this.next);
    this.keys = keys;
    this.counts = counts;
    this.next = next;
  }
}
