/**
 * Every column, once: the screen, plain text, the documentation of the JSON output and the help
 * read the same table.
 */

import type { FunctionRow } from "../model/aggregate.ts";
import { byRuntime, RUNTIMES, type Runtime } from "../tick/runtimes.ts";
import type { FunctionInfo } from "../tick/tick.ts";
import { type Cut, type Glyphs, percent, points } from "./format.ts";

/** How wide a column is. */
export interface WidthRule {
  /** Cells it never goes below. */
  readonly min: number;
  /** Cells it takes where there is room; more only to columns that grow, for what needs it. */
  readonly max: number;
  /** Part of the room that is left over. */
  readonly grow?: number;
}

/** One column of rows of type `Row`, which knows what a cell says in `Context`. */
export interface Column<Row, Context> {
  readonly id: string;
  readonly heading: string;
  /** One sentence, for help and documentation. */
  readonly meaning: string;
  readonly width: WidthRule;
  readonly align: "left" | "right";
  /** Where a text that is too long loses characters. */
  readonly cut: Cut;
  /** 0 stays always; of the others the highest gives way first. */
  readonly giveWay: number;
  /** Plain output has it too. */
  readonly plain: boolean;
  /** What the cell says, in so many cells where that matters. */
  value(row: Row, context: Context, width?: number): string;
  /** Its key in the JSON output, where it has one. */
  readonly json?: string;
}

/** What the cells of a row need to know besides the row. */
export interface RowContext {
  /** What percentages are of. */
  readonly samples: number;
  readonly glyphs: Glyphs;
  /** Leaves out the line after a module, when there is no room. */
  readonly moduleLine: boolean;
}

/** For the list of functions. */
export interface FunctionContext extends RowContext {
  /** Name of a process, where it is known. */
  comm?(pid: number): string | undefined;
  /** Samples of its own and of all since the totals were cleared. */
  since?(row: FunctionRow): { self: number; samples: number } | undefined;
  /** What it is called, if not by its name. */
  nameOf?(info: FunctionInfo): string;
  /** Its history in so many cells. */
  trail?(row: FunctionRow, cells: number): string;
  /** Percentage points that its own share grew since the mark. */
  change?(row: FunctionRow): number;
}

/** How a runtime is called in a column: text, since colour alone says nothing. */
export const RUNTIME_LABELS: Readonly<Record<Runtime, string>> = byRuntime(({ label }) => label);

/** The labels of some runtimes in a sentence. */
export function runtimeList(runtimes: readonly Runtime[], last: "and" | "or"): string {
  const labels = runtimes.map((it) => RUNTIME_LABELS[it]);
  return `${labels.slice(0, -1).join(", ")} ${last} ${labels.at(-1)}`;
}

/** The last part of a path; a module is mostly one. */
export const baseName = (module: string): string => module.slice(module.lastIndexOf("/") + 1);

function moduleText(row: FunctionRow, context: RowContext): string {
  const name = baseName(row.function.module);
  if (name === "") return context.glyphs.none;
  // The module of native code is no source file.
  const hasLine = row.line !== undefined && row.function.runtime !== "native";
  return hasLine && context.moduleLine ? `${name}:${row.line}` : name;
}

/** Columns of the list of functions, in their order. */
export const FUNCTION_COLUMNS: readonly Column<FunctionRow, FunctionContext>[] = [
  {
    id: "self",
    heading: "SELF%",
    meaning: "share of the samples whose innermost frame is this function",
    width: { min: 6, max: 6 },
    align: "right",
    cut: "end",
    giveWay: 0,
    plain: true,
    value: (row, { samples }) => percent(row.self, samples),
    json: "selfPercent",
  },
  {
    id: "total",
    heading: "TOTAL%",
    meaning:
      "share of the samples with this function anywhere in the stack, recursion counted once",
    width: { min: 7, max: 7 },
    align: "right",
    cut: "end",
    giveWay: 1,
    plain: true,
    value: (row, { samples }) => percent(row.total, samples),
    json: "totalPercent",
  },
  {
    id: "lang",
    heading: "LANG",
    meaning: `where its code comes from: ${runtimeList(RUNTIMES, "or")}`,
    width: { min: 6, max: 6 },
    align: "left",
    cut: "end",
    giveWay: 0,
    plain: true,
    value: (row) => RUNTIME_LABELS[row.function.runtime],
    json: "runtime",
  },
  {
    id: "name",
    heading: "FUNCTION",
    meaning: "the function; in [brackets] where there is no name, and why",
    width: { min: 20, max: 40, grow: 3 },
    align: "left",
    cut: "middle",
    giveWay: 0,
    plain: true,
    value: ({ function: info, note }, { nameOf }) => {
      const name = nameOf?.(info) ?? info.name;
      return note ? `${name} [${note}]` : name;
    },
    json: "name",
  },
  {
    id: "module",
    heading: "MODULE",
    meaning: "the file, assembly or kernel module that it is in, and its busiest line",
    width: { min: 12, max: 22, grow: 1 },
    align: "left",
    cut: "middle",
    giveWay: 2,
    plain: true,
    value: moduleText,
    json: "module",
  },
  {
    id: "processes",
    heading: "PROCESSES",
    meaning: "the process with the most of its samples, and how many others there are",
    width: { min: 16, max: 26 },
    align: "left",
    cut: "middle",
    giveWay: 5,
    plain: false,
    value: (row, context) => {
      const first = row.pids[0];
      if (!first) return context.glyphs.none;
      const comm = context.comm?.(first.pid);
      const more = row.processCount > 1 ? ` +${row.processCount - 1}` : "";
      return `${first.pid}${comm ? ` ${comm}` : ""}${more}`;
    },
    json: "pids",
  },
  {
    id: "since",
    heading: "SINCE%",
    meaning: "share of its own in all samples since the start, or since c was pressed",
    width: { min: 6, max: 6 },
    align: "right",
    cut: "end",
    giveWay: 6,
    plain: false,
    value: (row, context) => {
      const since = context.since?.(row);
      return since ? percent(since.self, since.samples) : context.glyphs.none;
    },
  },
  {
    id: "history",
    heading: "HISTORY",
    meaning:
      "its share over the last minute, 4 s a cell; each step up is twice as much, from 0.4 % on",
    width: { min: 8, max: 15 },
    align: "left",
    cut: "end",
    giveWay: 4,
    plain: false,
    value: (row, context, width) => context.trail?.(row, width ?? 0) ?? "",
  },
];

/** Stands after TOTAL% while a moment is marked. */
export const CHANGE_COLUMN: Column<FunctionRow, FunctionContext> = {
  id: "change",
  heading: "CHANGE",
  meaning:
    "percentage points that its own share of the last 10 s grew or shrank against the 10 s before the mark",
  width: { min: 7, max: 7 },
  align: "right",
  cut: "end",
  giveWay: 0,
  plain: false,
  value: (row, context) => points(context.change?.(row) ?? 0),
};

/** Columns of the list of functions while a moment is marked. */
export const MARKED_COLUMNS: readonly Column<FunctionRow, FunctionContext>[] =
  FUNCTION_COLUMNS.flatMap((column) =>
    column.id === "total" ? [column, CHANGE_COLUMN] : [column],
  );
