/** Runs at most once in so many milliseconds: at once when it can, and once more for all that came meanwhile. */
export function throttled(run: () => void, milliseconds: number): () => void {
  let last = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  const now = (): void => {
    timer = undefined;
    last = performance.now();
    run();
  };
  return () => {
    if (timer !== undefined) return;
    const wait = last + milliseconds - performance.now();
    if (wait <= 0) now();
    else timer = setTimeout(now, wait);
  };
}
