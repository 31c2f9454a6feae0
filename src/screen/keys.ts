/** From what the terminal sends to what a key does. */
import type { Key } from "ink";
import type { Mode, ViewId } from "../model/view.ts";
import { BINDINGS, type Binding, type Command } from "./bindings.ts";

const applies = (binding: Binding, view: ViewId, frozen: boolean): boolean =>
  (binding.views === undefined || binding.views.includes(view)) &&
  (binding.when === undefined || (binding.when === "frozen") === frozen);

/** What a key does in a list. */
export function commandFor(key: string, view: ViewId, frozen: boolean): Command | undefined {
  const binding = BINDINGS.find((one) => one.keys.includes(key) && applies(one, view, frozen));
  if (binding) return binding.command;
  // Esc is shown in the footer where it matters, but must always be harmless.
  return key === "esc" || key === "backspace" ? { do: "back" } : undefined;
}

/** Bindings that the footer names now, in their order. */
export function footerBindings(view: ViewId, frozen: boolean): readonly Binding[] {
  return BINDINGS.filter(
    (one) => one.footer && applies(one, view, frozen) && (!one.footer.frozen || frozen),
  );
}

const CONTROL: Readonly<Record<string, string>> = {
  "\r": "enter",
  "\n": "enter",
  "\t": "tab",
  "\u007f": "backspace",
  "\b": "backspace",
  "\u001b": "esc",
  "\u0003": "ctrl-c",
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
  ["delete", "backspace"],
];

/** Control characters that come with others in one read. */
function controlName(character: string): string {
  const code = character.charCodeAt(0);
  return code >= 1 && code <= 26 ? `ctrl-${String.fromCharCode(code + 96)}` : character;
}

/**
 * Names of the keys in one read: over a slow line several arrive together, `/abc\r` as one
 * string. A character is its own name.
 */
export function keyNames(input: string, key: Key): string[] {
  for (const [flag, name] of FLAGS) if (key[flag]) return [name];
  if (key.ctrl) return input === "" ? [] : [`ctrl-${input}`];
  const names = [...input].map((character) => CONTROL[character] ?? controlName(character));
  // Alt is not used; Esc and the next key look the same when a slow line brings them together.
  return key.meta ? ["esc", ...names] : names;
}

/** Which modes type text: there every key is text. */
export const isPrompt = (mode: Mode): mode is "pid" | "filter" =>
  mode === "pid" || mode === "filter";
