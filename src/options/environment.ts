/** What the environment asks for. */
import { UsageError } from "../tick/errors.ts";

/** What polytop may cost, for those who measure it or have CPUs to spare. */
export function budgetPercent({ POLYTOP_BUDGET: text }: NodeJS.ProcessEnv): number | undefined {
  if (!text) return undefined;
  const percent = Number(text);
  if (percent >= 0 && percent <= 1e5) return percent;
  throw new UsageError(`POLYTOP_BUDGET is percent of one CPU, 0 for no limit, not "${text}"`);
}
