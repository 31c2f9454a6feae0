/** Every column of the list of processes, once. */
import type { ProcessRow } from "../model/aggregate.ts";
import type { ThreadRow } from "../model/threads.ts";
import { RUNTIME_ROWS, RUNTIMES } from "../tick/runtimes.ts";
import { type Column, type RowContext, RUNTIME_LABELS, runtimeList } from "./columns.ts";
import { percent, sharePercent, thousands } from "./format.ts";

/** A process, or a thread of one. */
export type ListedTask = ProcessRow | ThreadRow;

/** The runtimes that are listed always, and are managed or not. */
const managed = (wanted: boolean) =>
  RUNTIMES.filter((runtime) => RUNTIME_ROWS[runtime].isManaged === wanted);

/** For the list of processes. */
export interface ProcessContext extends RowContext {
  /** Samples that one CPU takes in the time shown. */
  readonly samplesPerCpu: number;
  user?(uid: number): string | undefined;
  /** How deep it is below a process that is shown. */
  depth?(row: ListedTask): number;
  /** Its container or unit. */
  cgroup?(row: ListedTask): string;
  /** Its history in so many cells. */
  trail?(row: ListedTask, cells: number): string;
}

/** One thread is its number; several of one name are counted. */
const threadNumber = (row: ThreadRow): string =>
  row.tids.length === 1 ? String(row.tids[0]) : `x${row.tids.length}`;

/** Columns of the list of processes, in their order. */
export const PROCESS_COLUMNS: readonly Column<ListedTask, ProcessContext>[] = [
  {
    id: "share",
    heading: "SHARE%",
    meaning: "its share of the samples",
    width: { min: 7, max: 7 },
    align: "right",
    cut: "end",
    giveWay: 0,
    plain: true,
    value: (row, { samples }) => percent(row.samples, samples),
    json: "percent",
  },
  {
    id: "cpu",
    heading: "CPU%",
    meaning: "the same in percent of one CPU",
    width: { min: 6, max: 6 },
    align: "right",
    cut: "end",
    giveWay: 2,
    plain: true,
    value: (row, { samplesPerCpu }) => percent(row.samples, samplesPerCpu),
  },
  {
    id: "pid",
    heading: "PID",
    meaning: "its number",
    width: { min: 7, max: 7 },
    align: "right",
    cut: "end",
    giveWay: 0,
    plain: true,
    value: (row) => ("thread" in row ? threadNumber(row) : row.pid.toString()),
    json: "pid",
  },
  {
    id: "user",
    heading: "USER",
    meaning: "whose it is",
    width: { min: 8, max: 10 },
    align: "left",
    cut: "end",
    giveWay: 4,
    plain: true,
    value: (row, context) => context.user?.(row.uid) ?? row.uid.toString(),
  },
  {
    id: "comm",
    heading: "COMMAND",
    meaning: "its name; children stand under their parents, and with t threads under both, by name",
    width: { min: 12, max: 22, grow: 1 },
    align: "left",
    cut: "middle",
    giveWay: 0,
    plain: true,
    value: (row, context) => {
      const depth = context.depth?.(row) ?? 0;
      const name = "thread" in row ? `(${row.thread})` : row.comm;
      return depth > 0 ? "  ".repeat(depth - 1) + context.glyphs.child + name : name;
    },
    json: "comm",
  },
  {
    id: "cgroup",
    heading: "CONTAINER",
    meaning: "the container or pod that it runs in, else its unit or control group",
    width: { min: 12, max: 22 },
    align: "left",
    cut: "middle",
    giveWay: 5,
    plain: false,
    value: (row, context) => context.cgroup?.(row) || context.glyphs.none,
  },
  {
    id: "runtimes",
    heading: "RUNTIMES",
    meaning: `${runtimeList(managed(true), "and")} where they were anywhere in its stacks; ${runtimeList(managed(false), "and")} where innermost`,
    width: { min: 18, max: 23 },
    align: "left",
    cut: "end",
    giveWay: 3,
    plain: true,
    value: (row) => row.runtimes.map((runtime) => RUNTIME_LABELS[runtime]).join(" "),
    json: "runtimes",
  },
  {
    id: "samples",
    heading: "SAMPLES",
    meaning: "its samples in the time shown",
    width: { min: 8, max: 8 },
    align: "right",
    cut: "end",
    giveWay: 7,
    plain: true,
    value: (row) => thousands(row.samples),
    json: "samples",
  },
  {
    id: "complete",
    heading: "COMPLETE%",
    meaning: "share of its stacks that reach the outermost frame of their thread",
    width: { min: 9, max: 9 },
    align: "right",
    cut: "end",
    giveWay: 1,
    plain: true,
    value: (row) => sharePercent(row.complete, row.samples),
    json: "complete",
  },
  {
    id: "history",
    heading: "HISTORY",
    meaning: "its share over the last minute, as with the functions",
    width: { min: 8, max: 15 },
    align: "left",
    cut: "end",
    giveWay: 6,
    plain: false,
    value: (row, context, width) => context.trail?.(row, width ?? 0) ?? "",
  },
];
