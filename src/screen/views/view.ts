/** What a view is: one object that says all that keys, help, header and window need to know of it. */
import type { Column } from "../../text/columns.ts";
import type { Tick } from "../../tick/tick.ts";
import type { ListShape, Session } from "../state/session.ts";
import type { ViewState } from "../state/state.ts";
import type { Theme } from "../theme.ts";

/** What a view is drawn of, and the cells that it may fill. */
export interface BodyInput {
  readonly session: Session;
  readonly tick: Tick;
  readonly width: number;
  readonly height: number;
  readonly theme: Theme;
}

/** What a view draws between header and footer: lines, and the ids of all rows for moving. */
export interface Body extends ListShape {
  readonly lines: readonly string[];
}

/** Draws a view; undefined where there is nothing to list: the window says why. */
export type DrawBody = (input: BodyInput) => Body | undefined;

/** Groups of keys that do something only in some views, see `keys/bindings.ts`. */
export type KeyGroup =
  /** The view shows samples, which filter, span and kernel frames choose. */
  | "samples"
  /** Its rows are sorted. */
  | "sorted"
  /** Its rows can be opened. */
  | "rows"
  /** It names functions. */
  | "names"
  /** Its rows are nodes of the call tree. */
  | "tree"
  /** It goes through what the filter names. */
  | "matches"
  /** Its rows are of one language each. */
  | "languages"
  /** Its rows are processes, with their families and threads. */
  | "processes"
  /** It was opened from another view. */
  | "page";

/** One view. To add another, write it and put it into the registry. */
export interface View {
  /** Its name in the state; rows have their ids within it. */
  readonly id: string;
  /** The key that shows it and what the help says of that; a page has none, other views open it. */
  readonly key?: { readonly name: string; readonly help: string };
  readonly keys: readonly KeyGroup[];
  /** Columns that the help explains. */
  readonly columns?: readonly Pick<Column<never, never>, "heading" | "meaning" | "json">[];
  /** The longest span that its percentages can be of, if the header is to tell of which they are. */
  readonly longestSpan?: "recent" | "since";
  /** Makes what draws it in one window, which may keep what it needs to draw it again. */
  makeBody(): DrawBody;
  /** Opens a row. */
  open?(session: Session, row: string): void;
  /** Undoes what Esc takes back first; undefined when there is nothing of that. */
  takeBack?(state: ViewState): ViewState | undefined;
}
