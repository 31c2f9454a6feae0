/**
 * Lists every column once: the screen, plain text, the documentation of the JSON output and the help
 * read the same table.
 */

import type { FunctionRow } from "../model/aggregate.ts";
import type { ViewSort } from "../model/sort.ts";
import { byRuntime, RUNTIMES, type Runtime } from "../tick/runtimes.ts";
import type { FunctionInfo } from "../tick/tick.ts";
import { markedName } from "./awaits.ts";
import { type Cut, type Glyphs, percent, points, truncate } from "./format.ts";

/** Says how wide a column is. */
export interface WidthRule {
  /** The column never has fewer cells. */
  readonly min: number;
  /** The column takes so many cells where there is room; more go to columns that grow, for what needs them. */
  readonly max: number;
  /** The part that it gets of the room that is left over. */
  readonly grow?: number;
}

/** One column of rows of type `Row`; in a `Context` it knows what a cell says. */
export interface Column<Row, Context> {
  readonly id: string;
  readonly heading: string;
  /** One sentence, for help and documentation. */
  readonly meaning: string;
  readonly width: WidthRule;
  /** Texts begin at the left when it is left out. */
  readonly align?: "left" | "right";
  /** A text that is too long loses characters there; at its end when it is left out. */
  readonly cut?: Cut;
  /** Columns without it stay always; of the others the highest gives way first. */
  readonly giveWay?: number;
  /** Keys that sort the rows by it. */
  readonly sorts?: readonly ViewSort[];
  /** Plain output has it too. */
  readonly plain?: true;
  /** Says what is in the cell, in so many cells where that matters. */
  value(row: Row, context: Context, width?: number): string;
  /** The key that it has in the JSON output, if any. */
  readonly json?: string;
}

/** What the cells of a row need to know besides the row. */
export interface RowContext {
  /** Percentages are of so many samples. */
  readonly samples: number;
  readonly glyphs: Glyphs;
  /** There is room for the line after a module. */
  readonly moduleLine: boolean;
}

/** What cells of the list of functions need to know besides. */
export interface FunctionContext extends RowContext {
  /** Says what a process runs, where it is known. */
  programOf?(pid: number): string | undefined;
  /** Returns its own samples and those of all since the totals were cleared. */
  since?(row: FunctionRow): { self: number; samples: number } | undefined;
  /** Says what it is called, if not by its name. */
  nameOf?(info: FunctionInfo): string;
  /** Draws its history in so many cells. */
  trail?(row: FunctionRow, cells: number): string;
  /** The time covered, where waits are counted. */
  readonly seconds?: number;
  /** Says how long the oldest wait in its name has lasted, in seconds. */
  age?(row: FunctionRow): number | undefined;
  /** Returns the percentage points that its own share grew since the mark. */
  change?(row: FunctionRow): number;
}

/** Columns call runtimes so: it is text, since colour alone says nothing. */
export const RUNTIME_LABELS: Readonly<Record<Runtime, string>> = byRuntime(({ label }) => label);

/** The labels of some runtimes in a sentence. */
export function runtimeList(runtimes: readonly Runtime[], last: "and" | "or"): string {
  const labels = runtimes.map((it) => RUNTIME_LABELS[it]);
  return `${labels.slice(0, -1).join(", ")} ${last} ${labels.at(-1)}`;
}

/** Returns the last part of a path; a module is mostly one. */
export const baseName = (module: string): string => module.slice(module.lastIndexOf("/") + 1);

function moduleText(row: FunctionRow, context: RowContext): string {
  const name = baseName(row.function.module);
  if (name === "") return context.glyphs.none;
  // The module of native code is no source file.
  const hasLine = row.line !== undefined && row.function.runtime !== "native";
  return hasLine && context.moduleLine ? `${name}:${row.line}` : name;
}

/** The columns of the list of functions have this order. */
export const FUNCTION_COLUMNS: readonly Column<FunctionRow, FunctionContext>[] = [
  {
    id: "self",
    heading: "SELF%",
    meaning: "share of the samples whose innermost frame is this function",
    width: { min: 6, max: 6 },
    sorts: ["self"],
    align: "right",
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
    sorts: ["total"],
    align: "right",
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
    plain: true,
    value: (row) => RUNTIME_LABELS[row.function.runtime],
    json: "runtime",
  },
  {
    id: "name",
    heading: "FUNCTION",
    meaning: "the function; in [brackets] where there is no name, and why",
    width: { min: 20, max: 40, grow: 3 },
    sorts: ["name"],
    cut: "middle",
    plain: true,
    value: ({ function: info, note, awaits = false }, { nameOf }) => {
      const name = markedName(nameOf?.(info) ?? info.name, awaits);
      return note ? `${name} [${note}]` : name;
    },
    json: "name",
  },
  {
    id: "module",
    heading: "MODULE",
    meaning: "the file, assembly or kernel module that it is in, and its busiest line",
    width: { min: 12, max: 22, grow: 1 },
    sorts: ["module"],
    cut: "middle",
    giveWay: 2,
    plain: true,
    value: moduleText,
    json: "module",
  },
  {
    id: "processes",
    heading: "PROCESSES",
    meaning:
      "the process with the most of its samples, by what it runs: of an interpreter the script; and how many others there are",
    width: { min: 15, max: 26 },
    sorts: ["pid"],
    giveWay: 4,
    value: (row, { glyphs, programOf }, width = Number.POSITIVE_INFINITY) => {
      const first = row.pids[0];
      if (!first) return glyphs.none;
      const pid = String(first.pid);
      const more = row.processCount > 1 ? ` +${row.processCount - 1}` : "";
      const room = width - pid.length - more.length - 1;
      const program = programOf?.(first.pid) ?? "";
      return program === "" || room < 2
        ? pid + more
        : `${pid} ${truncate(program, room, "end", glyphs)}${more}`;
    },
    json: "pids",
  },
  {
    id: "since",
    heading: "SINCE%",
    meaning: "share of its own in all samples since the start, or since c was pressed",
    width: { min: 6, max: 6 },
    align: "right",
    giveWay: 6,
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
    giveWay: 5,
    value: (row, context, width) => context.trail?.(row, width ?? 0) ?? "",
  },
];

/** This column stands after TOTAL% while a moment is marked. */
export const CHANGE_COLUMN: Column<FunctionRow, FunctionContext> = {
  id: "change",
  heading: "CHANGE",
  meaning:
    "percentage points that its own share of the last 10 s grew or shrank against the 10 s before the mark",
  width: { min: 7, max: 7 },
  sorts: ["change"],
  align: "right",
  value: (row, context) => points(context.change?.(row) ?? 0),
};

/** The list of functions has these columns while a moment is marked. */
export const MARKED_COLUMNS: readonly Column<FunctionRow, FunctionContext>[] =
  FUNCTION_COLUMNS.flatMap((column) =>
    column.id === "total" ? [column, CHANGE_COLUMN] : [column],
  );
