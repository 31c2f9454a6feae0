/** From a key to what it does. */
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

/** Which modes type text: there every key is text. */
export const isPrompt = (mode: Mode): mode is "pid" | "filter" =>
  mode === "pid" || mode === "filter";
