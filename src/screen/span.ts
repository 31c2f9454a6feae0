/** Says in words what percentages are of. */
import { clock } from "../text/format.ts";
import type { ViewState } from "./state/state.ts";

/** Names the span of a tree or flame, which never show a single refresh: that has too few samples. */
export const spanText = ({ span }: ViewState, seconds: number): string =>
  span === "since" ? `since the start or c: ${clock(seconds)}` : `last ${Math.round(seconds)} s`;
