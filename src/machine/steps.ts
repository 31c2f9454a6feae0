/** Work in steps of a few milliseconds, so that keys are answered between them. */
import { setImmediate as behindThisTurn } from "node:timers/promises";

/** Others have a turn after so long. */
const TURN_MILLISECONDS = 10;

/**
 * Does all steps, and lets others have their turns between them; resolves to what they return. `now` is in milliseconds,
 * on a clock that does not go back.
 */
export async function inTurns<Result>(
  steps: Iterator<unknown, Result>,
  now: () => number = () => performance.now(),
): Promise<Result> {
  let begun = now();
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    if (now() - begun < TURN_MILLISECONDS) continue;
    await behindThisTurn();
    begun = now();
  }
}

/** Does all steps in this turn; returns what they return. */
export function atOnce<Result>(steps: Iterator<unknown, Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
