/** What a view draws between header and footer. */
import type { ListShape } from "./session.ts";

/** A body: lines of the window, and the ids of all rows for moving. */
export interface Body extends ListShape {
  readonly lines: readonly string[];
}
