import type { CgroupNames } from "../machine/cgroups.ts";
import type { FunctionRow } from "../model/aggregate.ts";
import { FUNCTION_COLUMNS, type FunctionContext, MARKED_COLUMNS } from "../model/columns.ts";
import { sortFunctions } from "../model/sort.ts";
import type { ViewState } from "../model/state.ts";
import { drawTrail } from "../model/trails.ts";
import { holdOrder, visibleRows } from "../model/window.ts";
import type { Body, BodyInput } from "./body.ts";
import type { FunctionPicture } from "./looks.ts";
import type { Paint, Theme } from "./paint.ts";
import { ProcessList } from "./processes.ts";
import { headingRow, listRow, TableLayout } from "./table.ts";

/** Functions in the order and choice of the state. */
function orderedFunctions(picture: FunctionPicture, state: ViewState): readonly FunctionRow[] {
  const { language } = state;
  const { rows, changes } = picture;
  const chosen = language ? rows.filter((row) => row.function.runtime === language) : rows;
  const sorted = sortFunctions(chosen, state.sort, state.reverse, changes?.of);
  return holdOrder(sorted, (row) => row.function.id, state.held?.ids);
}

/** What lists ask the machine. */
export interface ListTools {
  user(uid: number): string | undefined;
  readonly cgroups: CgroupNames | undefined;
}

/** Remembers the layout for a width, and the order for a picture and the choices about it. */
export class Lists {
  readonly #functions = new TableLayout(FUNCTION_COLUMNS);
  readonly #marked = new TableLayout(MARKED_COLUMNS);
  readonly processes: ProcessList;
  #order:
    | {
        of: readonly FunctionRow[];
        key: string;
        held: readonly number[] | undefined;
        rows: readonly FunctionRow[];
        ids: readonly number[];
      }
    | undefined;

  constructor(tools: ListTools) {
    this.processes = new ProcessList(tools);
  }

  #ordered(picture: FunctionPicture, state: ViewState) {
    const key = `${state.sort} ${state.reverse} ${state.language}`;
    const kept = this.#order;
    const held = state.held?.ids;
    const isSame = kept?.of === picture.rows && kept.key === key;
    // To hold the order that there is changes nothing: so it is for each of many keys.
    if (isSame && (held === kept.held || held === kept.ids)) return kept;
    const rows = orderedFunctions(picture, state);
    const ids = rows.map((row) => row.function.id);
    this.#order = { of: picture.rows, key, held, rows, ids };
    return this.#order;
  }

  /** The functions view. */
  functions({ session, tick, width, height, theme }: BodyInput): Body {
    const { state, looks } = session;
    const picture = looks.functions(tick, state);
    const { rows: ordered, ids } = this.#ordered(picture, state);
    const page = Math.max(0, height - 1);
    const shown = visibleRows(ordered, (row) => row.function.id, state, page);
    const { changes } = picture;
    const { sums } = looks.since(tick, state);
    const trails = looks.trails(tick, state);
    const kind = state.sort === "total" ? "total" : "self";
    let comms: Map<number, string> | undefined;
    const context: FunctionContext = {
      samples: picture.samples,
      glyphs: theme.glyphs,
      moduleLine: width >= 70,
      comm: (pid) => {
        comms ??= new Map(looks.picture(tick, state).processes.map((row) => [row.pid, row.comm]));
        return comms.get(pid);
      },
      since: (row) => ({ self: sums.of(row.function.id)?.self ?? 0, samples: sums.samples }),
      nameOf: theme.nameOf,
      trail: (row, cells) => drawTrail(trails.shares(kind, row.function.id, cells), theme.glyphs),
      ...(changes ? { change: changes.of } : {}),
    };
    const layout = (changes ? this.#marked : this.#functions).fit(width, shown.rows, context);
    const lines = shown.rows.map((row, i) => {
      const paint = functionPaint(row, context, theme);
      return listRow(layout, row, context, i === shown.selected, paint, theme);
    });
    return { lines: [headingRow(layout, state.sort, state.reverse, theme), ...lines], ids, page };
  }
}

function functionPaint(
  row: FunctionRow,
  context: FunctionContext,
  theme: Theme,
): (columnId: string) => Paint | undefined {
  return (columnId) => {
    if (columnId === "lang") return theme.runtime[row.function.runtime];
    if (columnId === "change" && Math.abs(context.change?.(row) ?? 0) >= 1) return theme.bold;
    return undefined;
  };
}
