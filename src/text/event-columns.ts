/** Lists the columns that only events have: of functions, those of the events behind the first; of processes, their counts. */
import type { FunctionRow } from "../model/aggregate.ts";
import type { Column, FunctionContext } from "./columns.ts";
import { rate, thousands } from "./format.ts";
import { type ListedTask, PROCESS_COLUMNS, type ProcessContext } from "./process-columns.ts";

type FunctionColumn = Column<FunctionRow, FunctionContext>;

/** A heading is no wider. */
const MOST_CELLS = 16;

/** The part of an event's name that tells most: behind the last colon. */
const shortEvent = (name: string): string => name.slice(name.lastIndexOf(":") + 1);

/** What a column needs to know of an event. */
export interface EventRows {
  readonly name: string;
  /** What the function with this id has of it. */
  readonly rowOf: (id: number) => FunctionRow | undefined;
}

/** What an event counted in a function's own name. */
const eventColumn = ({ name, rowOf }: EventRows): FunctionColumn => {
  const heading = shortEvent(name).slice(0, MOST_CELLS).toUpperCase();
  const width = Math.max(8, heading.length);
  return {
    id: `event ${name}`,
    heading,
    meaning: `${name} in this function itself`,
    width: { min: width, max: width },
    align: "right",
    giveWay: 3,
    plain: true,
    value: (row) => thousands(rowOf(row.function.id)?.self ?? 0),
  };
};

/** Columns with those of other events behind the shares of the first. */
export function withEventColumns(
  columns: readonly FunctionColumn[],
  others: readonly EventRows[],
): readonly FunctionColumn[] {
  if (others.length === 0) return columns;
  return columns.flatMap((column) =>
    column.id === "total" ? [column, ...others.map(eventColumn)] : [column],
  );
}

type ProcessColumn = Column<ListedTask, ProcessContext>;

const RATE: ProcessColumn = {
  id: "rate",
  heading: "RATE/s",
  meaning: "in place of CPU% where events are counted: its events a second, or bytes",
  width: { min: 7, max: 7 },
  align: "right",
  giveWay: 2,
  value: (row, { seconds }) => rate(seconds > 0 ? row.samples / seconds : 0),
};

const COUNT: ProcessColumn = {
  id: "count",
  heading: "COUNT",
  meaning: "in place of SAMPLES: its events in the time shown, or bytes",
  width: { min: 8, max: 14 },
  align: "right",
  giveWay: 7,
  value: (row) => thousands(row.samples),
  json: "samples",
};

/** Events are no part of a CPU's time: how many there were stands in place of that. */
export const COUNT_COLUMNS: readonly ProcessColumn[] = [RATE, COUNT];

const IN_PLACE: Readonly<Record<string, ProcessColumn>> = { cpu: RATE, samples: COUNT };

/** The columns of processes that caused events. */
export const EVENT_PROCESS_COLUMNS: readonly ProcessColumn[] = PROCESS_COLUMNS.map(
  (column) => IN_PLACE[column.id] ?? column,
);
