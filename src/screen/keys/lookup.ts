/** Finds what a key does where one is. */
import type { View } from "../views/view.ts";
import { BINDINGS, type Binding } from "./bindings.ts";

const applies = ({ group, when }: Binding, view: View, isFrozen: boolean): boolean =>
  (group === undefined || view.keys.includes(group)) &&
  (when === undefined || (when === "frozen") === isFrozen);

/** What a key does in a view. */
export function bindingFor(key: string, view: View, isFrozen: boolean): Binding | undefined {
  const named = BINDINGS.filter((one) => one.keys.includes(key));
  // Esc is shown in the footer where it matters, but goes back everywhere.
  return named.find((one) => one.everywhere || applies(one, view, isFrozen));
}

/** Bindings that the footer names now, in their order. */
export function footerBindings(
  view: View,
  isFrozen: boolean,
  isNoticed = false,
): readonly Binding[] {
  const isNamed = ({ named }: Binding): boolean =>
    named === undefined || (named === "frozen" ? isFrozen : isNoticed);
  return BINDINGS.filter((one) => one.footer && applies(one, view, isFrozen) && isNamed(one));
}
