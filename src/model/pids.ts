/** Reads pids as somebody types them. */

/** The prompt takes no longer lists: they could not be read there. */
const MAX_PROMPT_PIDS = 64;

/** Reads the pid that a word spells, whether there is such a process or not; undefined where it spells none. */
export function parsePid(word: string): number | undefined {
  const pid = Number(word);
  return /^\d{1,10}$/.test(word) && pid > 0 ? pid : undefined;
}

/** Reads the pids of a prompt, or says what is wrong with them while somebody types. */
export function parsePids(text: string): { pids: number[] } | { error: string } {
  const words = text.split(/[\s,]+/).filter((word) => word !== "");
  const pids: number[] = [];
  for (const word of words) {
    const pid = parsePid(word);
    if (pid === undefined) return { error: `"${word}" is no pid` };
    pids.push(pid);
  }
  if (pids.length > MAX_PROMPT_PIDS) return { error: `at most ${MAX_PROMPT_PIDS} pids` };
  return { pids };
}
