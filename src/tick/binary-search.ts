/**
 * Finds the first number in [from, end) for which `holds` is true, by halves: it must be true for all that follow.
 * Returns `end` if there is none.
 */
export function firstWhere(from: number, end: number, holds: (index: number) => boolean): number {
  let low = from;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
