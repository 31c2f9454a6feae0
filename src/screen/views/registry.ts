/** All views. Those with a key come in the order of Tab. */
import type { ViewState } from "../state/state.ts";
import { counterPage } from "./counter.ts";
import { flameView } from "./flame.ts";
import { functionPage } from "./function.ts";
import { functionsView } from "./functions.ts";
import { metricsView } from "./metrics.ts";
import { processesView } from "./processes.ts";
import { treeView } from "./tree.ts";
import type { View } from "./view.ts";

export const VIEWS: readonly View[] = [
  functionsView,
  processesView,
  treeView,
  flameView,
  metricsView,
  functionPage,
  counterPage,
];

/** The view that a state shows. */
export const viewOf = ({ view }: Pick<ViewState, "view">): View =>
  VIEWS.find(({ id }) => id === view) ?? functionsView;

/** The view that Tab leads to, or Shift-Tab; from a page, the first or the last. */
export function viewAfter(view: View, step: 1 | -1 = 1): View {
  const chosen = VIEWS.filter(({ key }) => key !== undefined);
  const at = chosen.indexOf(view);
  const next = at < 0 && step < 0 ? -1 : at + step;
  return chosen.at(next % chosen.length) ?? functionsView;
}
