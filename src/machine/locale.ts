/** What a terminal is told to speak. */

/** Decides as the C library does: the first of these that is set counts. */
export function speaksUtf8({ LC_ALL, LC_CTYPE, LANG }: NodeJS.ProcessEnv): boolean {
  return /utf-?8/i.test(LC_ALL || LC_CTYPE || LANG || "");
}
