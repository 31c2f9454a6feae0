/** Shows which functions take the time. */

import type { FunctionRow } from "../../model/aggregate.ts";
import { withOthers } from "../../model/events.ts";
import { sortFunctions, topFunctions, type ViewSort } from "../../model/sort.ts";
import { isWaiting } from "../../model/waits/activity.ts";
import { waitAges } from "../../model/waits/states.ts";
import {
  CHANGE_COLUMN,
  FUNCTION_COLUMNS,
  type FunctionContext,
  MARKED_COLUMNS,
} from "../../text/columns.ts";
import { withEventColumns } from "../../text/event-columns.ts";
import { programText } from "../../text/process-columns.ts";
import { drawTrail } from "../../text/trail.ts";
import { WAIT_COLUMNS, WAITING_COLUMNS, WAITING_MARKED_COLUMNS } from "../../text/wait-columns.ts";
import { tasksOf } from "../../tick/tick.ts";
import { Memo } from "../state/memo.ts";
import { holdOrder, type ListRows, listOf } from "../state/rows.ts";
import type { EventPicture, FunctionPicture } from "../state/selectors.ts";
import { FIRST_VIEW, RECENT_SECONDS, type ViewState } from "../state/state.ts";
import { openPage } from "../state/transitions.ts";
import { TableLayout } from "../table.ts";
import { FUNCTION_PAGE } from "./function.ts";
import { listBody, type PaintOf } from "./list.ts";
import type { Body, BodyInput, View } from "./view.ts";

const rowId = (row: FunctionRow): string => String(row.function.id);

/** How functions are sorted. */
interface FunctionOrder {
  readonly sort: ViewSort;
  readonly reverse: boolean;
  /** What else may give the order: how much a row changed, or how long threads wait in it. */
  readonly amount: ((row: FunctionRow) => number) | undefined;
}

/** Functions in an order, sorted as far as somebody looks: of thousands in a refresh a window shows the first. */
class SortedFunctions implements ListRows<FunctionRow> {
  readonly #rows: readonly FunctionRow[];
  readonly #order: FunctionOrder;
  #first: readonly FunctionRow[] = [];
  #all: readonly FunctionRow[] | undefined;
  #ids: readonly string[] | undefined;

  constructor(rows: readonly FunctionRow[], order: FunctionOrder) {
    this.#rows = rows;
    this.#order = order;
  }

  get length(): number {
    return this.#rows.length;
  }

  get all(): readonly FunctionRow[] {
    const { sort, reverse, amount } = this.#order;
    this.#all ??= sortFunctions(this.#rows, sort, reverse, amount);
    return this.#all;
  }

  get ids(): readonly string[] {
    this.#ids ??= this.all.map(rowId);
    return this.#ids;
  }

  idsOf(first: number, end: number): readonly string[] {
    return this.slice(first, end).map(rowId);
  }

  amountOf(row: FunctionRow): number {
    const { sort } = this.#order;
    return sort === "self" || sort === "total" ? row[sort] : 0;
  }

  slice(first: number, end: number): readonly FunctionRow[] {
    if (this.#all) return this.#all.slice(first, end);
    if (this.#first.length < Math.min(end, this.length)) {
      const { sort, reverse, amount } = this.#order;
      this.#first = topFunctions(this.#rows, sort, end, reverse, amount);
    }
    return this.#first.slice(first, end);
  }
}

function heldFunctions(sorted: SortedFunctions, held: readonly string[]): ListRows<FunctionRow> {
  const rows = holdOrder(sorted.all, rowId, held);
  return listOf(rows, rows.map(rowId), (row) => sorted.amountOf(row));
}

/** What runs in a process. */
type Program = Parameters<typeof programText>[0] & { readonly pid: number };

const byPid = (programs: readonly Program[]): Map<number, Program> =>
  new Map(programs.map((one) => [one.pid, one]));

/** A table with columns of several events, which are of another picture each time. */
class EventTable {
  #shown: readonly EventPicture[] = [];
  #layout: TableLayout<FunctionRow, FunctionContext> | undefined;
  readonly #isMarked: boolean;

  constructor(isMarked: boolean) {
    this.#isMarked = isMarked;
  }

  of(others: readonly EventPicture[]): TableLayout<FunctionRow, FunctionContext> {
    this.#shown = others;
    this.#layout ??= new TableLayout(
      withEventColumns(
        this.#isMarked ? MARKED_COLUMNS : FUNCTION_COLUMNS,
        others.map(({ name }, at) => ({ name, rowOf: (id) => this.#shown[at]?.rows.get(id) })),
      ),
    );
    return this.#layout;
  }
}

/** Remembers the layout for a width, and the order for a picture and the choices about it. */
class FunctionList {
  readonly #functions = new TableLayout(FUNCTION_COLUMNS);
  readonly #marked = new TableLayout(MARKED_COLUMNS);
  readonly #waiting = new TableLayout(WAITING_COLUMNS);
  readonly #waitingMarked = new TableLayout(WAITING_MARKED_COLUMNS);
  readonly #sorted = new Memo<SortedFunctions>();
  readonly #all = new Memo<readonly FunctionRow[]>();
  /** Tables with columns of several events, by the names of these. */
  readonly #withEvents = new Map<string, EventTable>();
  #kept:
    | {
        readonly sorted: SortedFunctions;
        readonly held: readonly string[] | undefined;
        readonly result: ListRows<FunctionRow>;
      }
    | undefined;

  /** Functions in the order and choice of the state. */
  #ordered(
    { rows: all, changes }: FunctionPicture,
    state: ViewState,
    ages: ReadonlyMap<number, number>,
  ): ListRows<FunctionRow> {
    const { sort, reverse, language } = state;
    const held = state.held?.ids;
    const sorted = this.#sorted.of([all, sort, reverse, language], () => {
      const chosen = language ? all.filter((row) => row.function.runtime === language) : all;
      const ageOf = (row: FunctionRow): number => ages.get(row.function.id) ?? 0;
      return new SortedFunctions(chosen, {
        sort,
        reverse,
        amount: sort === "age" ? ageOf : changes?.of,
      });
    });
    const kept = this.#kept;
    // To hold the order that there is changes nothing: many keys that come together do that.
    const isSame = kept?.sorted === sorted && (held === kept.held || held === kept.result.ids);
    if (isSame) return kept.result;
    const result = held ? heldFunctions(sorted, held) : sorted;
    this.#kept = { sorted, held, result };
    return result;
  }

  body(input: BodyInput): Body | undefined {
    const { session, tick, width, theme } = input;
    const { state, selectors } = session;
    const others = selectors.others(tick, state);
    const found = selectors.functions(tick, state);
    const rows = this.#all.of([found, others], () => withOthers(found.rows, others));
    const picture = { ...found, rows };
    const ages = waitAges(tick, selectors.options(state));
    const ordered = this.#ordered(picture, state, ages);
    if (ordered.length === 0) return undefined;
    const { changes } = picture;
    const { sums } = selectors.since(tick, state);
    const trails = selectors.trails(tick, state);
    const kind = state.sort === "total" ? "total" : "self";
    let now: Map<number, Program> | undefined;
    let earlier: Map<number, Program> | undefined;
    const context: FunctionContext = {
      samples: picture.samples,
      glyphs: theme.glyphs,
      moduleLine: width >= 70,
      seconds: picture.seconds,
      age: (row) => ages.get(row.function.id),
      programOf: (pid) => {
        now ??= byPid(selectors.steady(tick, state).processes);
        const known = now.get(pid) ?? earlier?.get(pid);
        if (known) return programText(known);
        earlier ??= byPid(session.history.last(RECENT_SECONDS, tick).flatMap(tasksOf));
        const met = earlier.get(pid);
        return met && programText(met);
      },
      since: (row) => ({ self: sums.of(row.function.id)?.self ?? 0, samples: sums.samples }),
      nameOf: theme.nameOf,
      trail: (row, cells) => drawTrail(trails.shares(kind, row.function.id, cells), theme.glyphs),
      ...(changes ? { change: changes.of } : {}),
    };
    const paintOf: PaintOf<FunctionRow> = (row, columnId) => {
      if (columnId === "lang") return theme.runtime[row.function.runtime];
      const isLarge = columnId === "change" && Math.abs(changes?.of(row) ?? 0) >= 1;
      return isLarge ? theme.bold : undefined;
    };
    const [plain, marked] = isWaiting(tick)
      ? [this.#waiting, this.#waitingMarked]
      : [this.#functions, this.#marked];
    const table = changes ? marked : plain;
    if (others.length > 0) {
      return listBody(
        this.#tableOf(others, changes !== undefined),
        ordered,
        context,
        input,
        paintOf,
      );
    }
    return listBody(table, ordered, context, input, paintOf);
  }

  /** The same table as long as the events stay the same: columns keep their places. */
  #tableOf(
    others: readonly EventPicture[],
    isMarked: boolean,
  ): TableLayout<FunctionRow, FunctionContext> {
    const key = [isMarked, ...others.map(({ name }) => name)].join(" ");
    const known = this.#withEvents.get(key) ?? new EventTable(isMarked);
    this.#withEvents.set(key, known);
    return known.of(others);
  }
}

export const functionsView: View = {
  id: FIRST_VIEW,
  key: { name: "1", help: "functions" },
  keys: ["samples", "sorted", "rows", "names", "languages"],
  columns: [...FUNCTION_COLUMNS, CHANGE_COLUMN, ...WAIT_COLUMNS],
  longestSpan: "since",
  makeBody: () => {
    const list = new FunctionList();
    return (input) => list.body(input);
  },
  open: (session, row) => session.update(openPage, FUNCTION_PAGE, row, row),
};
