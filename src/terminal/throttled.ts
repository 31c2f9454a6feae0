/**
 * Runs at most once in so many milliseconds, and once for all calls of the meantime. What can run at
 * once waits for the end of the event that is handled: several keys may come in one read.
 */
export function throttled(run: () => void, milliseconds: number): () => void {
  let last = Number.NEGATIVE_INFINITY;
  let isDue = false;
  const now = (): void => {
    isDue = false;
    last = performance.now();
    run();
  };
  return () => {
    if (isDue) return;
    isDue = true;
    const wait = last + milliseconds - performance.now();
    if (wait <= 0) queueMicrotask(now);
    else setTimeout(now, wait);
  };
}
