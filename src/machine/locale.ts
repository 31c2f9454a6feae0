/** What a terminal is told to speak. */

/**
 * Decides as the C library does: the first of these that is set counts. The fonts of the Linux console lack bars, lines
 * and arrows, whatever the locale.
 */
export function speaksUtf8({ LC_ALL, LC_CTYPE, LANG, TERM }: NodeJS.ProcessEnv): boolean {
  return TERM !== "linux" && /utf-?8/i.test(LC_ALL || LC_CTYPE || LANG || "");
}
