/** What the environment says of a terminal's colours. */

/** Terminals that have 256 colours, whatever their name says of it. */
const MODERN = /256|direct|truecolor|kitty|alacritty|ghostty|wezterm|^foot|^st-/;

/** Terminals that have none. */
const COLOURLESS = /^(dumb|vt\d+|ansi-m|.*-mono|.*-m)$/;

/** How many colours a terminal can be asked for. */
export function depthOf({ TERM = "", COLORTERM = "" }: NodeJS.ProcessEnv): "none" | "few" | "many" {
  if (COLOURLESS.test(TERM)) return "none";
  return MODERN.test(TERM) || /truecolor|24bit/.test(COLORTERM) ? "many" : "few";
}

/** Whether rxvt and those like it say that what is behind their text is light: 7 or 15 is the last number of theirs. */
export const saysLight = ({ COLORFGBG = "" }: NodeJS.ProcessEnv): boolean =>
  /;(7|15)$/.test(COLORFGBG);

/** Whether a terminal may be asked for the colour behind its text: older ones print the question. */
export const canBeAsked = ({ TERM = "" }: NodeJS.ProcessEnv): boolean =>
  !/^(linux|dumb|vt\d+|ansi|cons25|sun|)$/.test(TERM);
