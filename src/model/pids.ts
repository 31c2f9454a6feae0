/** What is typed into the pid prompt. */

/** Pids from a text, or what is wrong with it: shown as one types. */
export function parsePids(text: string): { pids: number[] } | { error: string } {
  const words = text.split(/[\s,]+/).filter((word) => word !== "");
  const wrong = words.find((word) => !/^\d{1,10}$/.test(word) || Number(word) === 0);
  if (wrong !== undefined) return { error: `"${wrong}" is no pid` };
  if (words.length > 64) return { error: "at most 64 pids" };
  return { pids: words.map(Number) };
}
