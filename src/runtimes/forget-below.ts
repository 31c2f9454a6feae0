/** Deletes all numbers below a limit: numbers are inserted in ascending order, so that the lowest come first. */
export function forgetBelow(map: Map<number, unknown>, limit: number): void {
  for (const number of map.keys()) {
    if (number >= limit) return;
    map.delete(number);
  }
}
