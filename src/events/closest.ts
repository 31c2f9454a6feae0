/** Names that are near to one that does not exist. */

const MOST = 3;

/** How many letters must be changed, added or left out; `limit` and 1 where it is more than `limit`. */
function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    if (Math.min(...next) > limit) return limit + 1;
    row = next;
  }
  return row[b.length] ?? limit + 1;
}

/** The nearest of some names, nearest first; none where no name is near. */
function closest(name: string, names: Iterable<string>): string[] {
  const limit = Math.max(1, Math.floor(name.length / 4));
  const found: { readonly name: string; readonly far: number }[] = [];
  for (const one of names) {
    const far = distance(name, one, limit);
    if (far <= limit) found.push({ name: one, far });
  }
  return found
    .sort((a, b) => a.far - b.far)
    .slice(0, MOST)
    .map((one) => one.name);
}

/** A question whether one of the nearest names was meant; empty where no name is near. */
export function didYouMean(name: string, names: Iterable<string>): string {
  const near = closest(name, names);
  return near.length > 0 ? `did you mean ${near.join(" or ")}?` : "";
}
