/** Turns what the terminal sends into the names of keys. */
import type { Key } from "ink";
import { FUNCTION_KEYS } from "./input-stream.ts";

const CONTROL: Readonly<Record<string, string>> = {
  "\r": "enter",
  "\n": "enter",
  "\t": "tab",
  "\u007f": "backspace",
  "\b": "backspace",
  "\u001b": "esc",
  "\u0003": "ctrl-c",
  ...FUNCTION_KEYS,
};

const FLAGS: readonly (readonly [keyof Key, string])[] = [
  ["upArrow", "up"],
  ["downArrow", "down"],
  ["leftArrow", "left"],
  ["rightArrow", "right"],
  ["pageUp", "pageup"],
  ["pageDown", "pagedown"],
  ["home", "home"],
  ["end", "end"],
  ["return", "enter"],
  ["escape", "esc"],
  ["tab", "tab"],
  ["backspace", "backspace"],
  ["delete", "delete"],
];

/** Names a control character that comes with others in one read. */
function controlName(character: string): string {
  const code = character.charCodeAt(0);
  return code >= 1 && code <= 26 ? `ctrl-${String.fromCharCode(code + 96)}` : character;
}

/**
 * Names the keys in one read: over a slow line several arrive together, `/abc\r` as one
 * string. A character is its own name.
 */
export function keyNames(input: string, key: Key): string[] {
  for (const [flag, name] of FLAGS) {
    if (key[flag]) return [name === "tab" && key.shift ? "shift-tab" : name];
  }
  if (key.ctrl) return input === "" ? [] : [`ctrl-${input}`];
  const names = [...input].map((character) => CONTROL[character] ?? controlName(character));
  // Alt is not used; Esc and the next key look the same when a slow line brings them together.
  return key.meta ? ["esc", ...names] : names;
}
