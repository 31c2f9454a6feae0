/** What a view draws between header and footer. */
import type { Tick } from "../tick/tick.ts";
import type { Theme } from "./paint.ts";
import type { ListShape, Session } from "./session.ts";

/** What a view is drawn of, and the cells that it may fill. */
export interface BodyInput {
  readonly session: Session;
  readonly tick: Tick;
  readonly width: number;
  readonly height: number;
  readonly theme: Theme;
}

/** A body: lines of the window, and the ids of all rows for moving. */
export interface Body extends ListShape {
  readonly lines: readonly string[];
}
