/** The bodies of the views that are lists: which rows, and what they look like. */
import type { Tick } from "../collector/tick.ts";
import type { Aggregate, FunctionRow } from "../model/aggregate.ts";
import {
  FUNCTION_COLUMNS,
  type FunctionContext,
  PROCESS_COLUMNS,
  type ProcessContext,
} from "../model/columns.ts";
import { type PlacedProcess, sortFunctions, sortProcesses } from "../model/sort.ts";
import type { ViewState } from "../model/view.ts";
import { holdOrder, visibleRows } from "../model/window.ts";
import type { Paint, Theme } from "./paint.ts";
import type { Session } from "./session.ts";
import { headingRow, listRow, TableLayout } from "./table.ts";

/** A body: lines of the window, and the ids of all rows for moving. */
export interface Body {
  readonly lines: readonly string[];
  readonly ids: readonly number[];
  /** Rows that a page moves by. */
  readonly page: number;
}

/** Functions in the order and choice of the state. */
export function orderedFunctions(all: Aggregate, state: ViewState): readonly FunctionRow[] {
  const { language } = state;
  const chosen = language
    ? all.functions.filter((row) => row.function.runtime === language)
    : all.functions;
  const sorted = sortFunctions(chosen, state.sort, state.reverse);
  return holdOrder(sorted, (row) => row.function.id, state.held?.ids);
}

/** Processes in the order of the state. */
export function orderedProcesses(all: Aggregate, state: ViewState): readonly PlacedProcess[] {
  const placed = sortProcesses(all.processes, state.sort, state.reverse);
  return holdOrder(placed, (one) => one.row.pid, state.held?.ids);
}

/** Remembers the layout for a width, and the order for an aggregate and the choices about it. */
export class Lists {
  readonly #users: (uid: number) => string | undefined;
  readonly #functions = new TableLayout(FUNCTION_COLUMNS);
  readonly #processes = new TableLayout(PROCESS_COLUMNS);
  #order:
    | { all: Aggregate; key: string; held: object | undefined; rows: readonly FunctionRow[] }
    | undefined;

  constructor(users: (uid: number) => string | undefined) {
    this.#users = users;
  }

  #ordered(all: Aggregate, state: ViewState): readonly FunctionRow[] {
    const key = `${state.sort} ${state.reverse} ${state.language}`;
    const kept = this.#order;
    if (kept && kept.all === all && kept.key === key && kept.held === state.held) return kept.rows;
    const rows = orderedFunctions(all, state);
    this.#order = { all, key, held: state.held, rows };
    return rows;
  }

  /** The functions view. */
  functions(session: Session, tick: Tick, width: number, height: number, theme: Theme): Body {
    const { state, totals } = session;
    const all = session.picture(tick);
    const ordered = this.#ordered(all, state);
    const page = Math.max(0, height - 1);
    const shown = visibleRows(ordered, (row) => row.function.id, state, page);
    let comms: Map<number, string> | undefined;
    const context: FunctionContext = {
      samples: all.samples,
      glyphs: theme.glyphs,
      moduleLine: width >= 70,
      comm: (pid) => {
        comms ??= new Map(all.processes.map((row) => [row.pid, row.comm]));
        return comms.get(pid);
      },
      since: (row) => ({ self: totals.self(row.function.id), samples: totals.samples }),
    };
    const layout = this.#functions.fit(width, shown.rows, context);
    const lines = shown.rows.map((row, i) => {
      const paint = functionPaint(row, theme);
      return listRow(layout, row, context, i === shown.selected, paint, theme);
    });
    return {
      lines: [headingRow(layout, state.sort, state.reverse, theme), ...lines],
      ids: ordered.map((row) => row.function.id),
      page,
    };
  }

  /** The processes view. */
  processes(session: Session, tick: Tick, width: number, height: number, theme: Theme): Body {
    const { state } = session;
    const all = session.picture(tick);
    const ordered = orderedProcesses(all, state);
    const page = Math.max(0, height - 1);
    const shown = visibleRows(ordered, (one) => one.row.pid, state, page);
    const depths = new Map(shown.rows.map((one) => [one.row, one.depth]));
    const context: ProcessContext = {
      samples: all.samples,
      glyphs: theme.glyphs,
      moduleLine: true,
      samplesPerCpu: tick.frequency * tick.intervalSeconds,
      user: this.#users,
      depth: (row) => depths.get(row) ?? 0,
    };
    const rows = shown.rows.map((one) => one.row);
    const layout = this.#processes.fit(width, rows, context);
    const none = (): undefined => undefined;
    const lines = shown.rows.map(({ row }, i) =>
      listRow(layout, row, context, i === shown.selected, none, theme),
    );
    return {
      lines: [headingRow(layout, state.sort, state.reverse, theme), ...lines],
      ids: ordered.map((one) => one.row.pid),
      page,
    };
  }
}

function functionPaint(row: FunctionRow, theme: Theme): (columnId: string) => Paint | undefined {
  return (columnId) => {
    return columnId === "lang" ? theme.runtime[row.function.runtime] : undefined;
  };
}
