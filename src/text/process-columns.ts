/** Lists every column of the list of processes once. */
import type { ProcessRow } from "../model/aggregate.ts";
import type { ThreadRow } from "../model/threads.ts";
import type { ThreadStates } from "../model/waits/states.ts";
import { RUNTIME_ROWS, RUNTIMES } from "../tick/runtimes.ts";
import { baseName, type Column, type RowContext, RUNTIME_LABELS, runtimeList } from "./columns.ts";
import { percent, sharePercent, thousands } from "./format.ts";

/** A process, or a thread of one. */
export type ListedTask = ProcessRow | ThreadRow;

/** The runtimes that are listed always, and are managed or not. */
const managed = (wanted: boolean) =>
  RUNTIMES.filter((runtime) => RUNTIME_ROWS[runtime].isManaged === wanted);

/** What cells of the list of processes need to know besides. */
export interface ProcessContext extends RowContext {
  /** One CPU takes so many samples in the time shown. */
  readonly samplesPerCpu: number;
  /** The time shown. */
  readonly seconds: number;
  /** Says how many of its threads were in each state. */
  states?(pid: number): ThreadStates | undefined;
  /** Says how deep it is below a process that is shown. */
  depth?(row: ListedTask): number;
  /** Draws its history in so many cells. */
  trail?(row: ListedTask, cells: number): string;
}

/** The command line of a process, its program without the folder; the name of the process where there is none. */
export function commandText({ comm, facts }: Pick<ProcessRow, "comm" | "facts">): string {
  const line = facts?.arguments || facts?.command || comm;
  return line.replace(/^\/(\S*\/)?(?=[^\s/])/, "");
}

/** What a process runs, in a word: the script, module or archive of an interpreter, else the name of the process. */
export function programText({ comm, facts }: Pick<ProcessRow, "comm" | "facts">): string {
  const words = facts?.command.split(" ") ?? [];
  const last = words.at(-1)?.replace(/^'|'$/g, "") ?? "";
  return words.length < 2 || last.startsWith("-") ? comm : baseName(last) || comm;
}

/** A single thread is shown by its number; several of one name are counted. */
const threadNumber = (row: ThreadRow): string =>
  row.tids.length === 1 ? String(row.tids[0]) : `x${row.tids.length}`;

/** The columns of the list of processes have this order. */
export const PROCESS_COLUMNS: readonly Column<ListedTask, ProcessContext>[] = [
  {
    id: "share",
    heading: "SHARE%",
    meaning: "its share of the samples",
    width: { min: 7, max: 7 },
    sorts: ["self", "total"],
    align: "right",
    value: (row, { samples }) => percent(row.samples, samples),
    json: "percent",
  },
  {
    id: "cpu",
    heading: "CPU%",
    meaning: "the same in percent of one CPU",
    width: { min: 6, max: 6 },
    align: "right",
    giveWay: 2,
    value: (row, { samplesPerCpu }) => percent(row.samples, samplesPerCpu),
  },
  {
    id: "pid",
    heading: "PID",
    meaning: "its number",
    width: { min: 7, max: 7 },
    sorts: ["pid"],
    align: "right",
    value: (row) => ("thread" in row ? threadNumber(row) : row.pid.toString()),
    json: "pid",
  },
  {
    id: "user",
    heading: "USER",
    meaning: "whose it is",
    width: { min: 8, max: 10 },
    giveWay: 4,
    value: ({ facts, uid }) => facts?.user || uid.toString(),
  },
  {
    id: "comm",
    heading: "COMMAND",
    meaning:
      "its command line, or its name where that is not known; children stand under their parents, and with t threads under both, by name",
    width: { min: 12, max: 22, grow: 1 },
    sorts: ["name"],
    cut: "middle",
    value: (row, context) => {
      const depth = context.depth?.(row) ?? 0;
      const name = "thread" in row ? `(${row.thread})` : commandText(row);
      return depth > 0 ? "  ".repeat(depth - 1) + context.glyphs.child + name : name;
    },
    json: "comm",
  },
  {
    id: "cgroup",
    heading: "CONTAINER",
    meaning: "the container or pod that it runs in, else its unit or control group",
    width: { min: 12, max: 22 },
    cut: "middle",
    giveWay: 5,
    value: (row, { glyphs }) => ("thread" in row ? undefined : row.facts?.group) || glyphs.none,
  },
  {
    id: "runtimes",
    heading: "RUNTIMES",
    meaning: `${runtimeList(managed(true), "and")} where they were anywhere in its stacks; ${runtimeList(managed(false), "and")} where innermost`,
    width: { min: 18, max: 23 },
    sorts: ["module"],
    giveWay: 3,
    value: (row) => row.runtimes.map((runtime) => RUNTIME_LABELS[runtime]).join(" "),
    json: "runtimes",
  },
  {
    id: "samples",
    heading: "SAMPLES",
    meaning: "its samples in the time shown",
    width: { min: 8, max: 8 },
    align: "right",
    giveWay: 7,
    value: (row) => thousands(row.samples),
    json: "samples",
  },
  {
    id: "complete",
    heading: "COMPLETE%",
    meaning: "share of its stacks that reach the outermost frame of their thread",
    width: { min: 9, max: 9 },
    align: "right",
    giveWay: 1,
    value: (row) => sharePercent(row.complete, row.samples),
    json: "complete",
  },
  {
    id: "guessed",
    heading: "GUESSED%",
    meaning:
      "share of its stacks that reach it through code without unwind rules: a caller may lack",
    width: { min: 8, max: 8 },
    align: "right",
    giveWay: 8,
    value: (row, { glyphs }) => (row.guessed > 0 ? percent(row.guessed, row.samples) : glyphs.none),
    json: "guessed",
  },
  {
    id: "history",
    heading: "HISTORY",
    meaning: "its share over the last minute, as with the functions",
    width: { min: 8, max: 15 },
    giveWay: 6,
    value: (row, context, width) => context.trail?.(row, width ?? 0) ?? "",
  },
];
