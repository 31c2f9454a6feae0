/** The columns of events behind the first, where several are counted. */
import type { FunctionRow } from "../model/aggregate.ts";
import type { Column, FunctionContext } from "./columns.ts";
import { thousands } from "./format.ts";

type FunctionColumn = Column<FunctionRow, FunctionContext>;

/** A heading is no wider. */
const MOST_CELLS = 16;

/** The part of an event's name that tells most: behind the last colon. */
export const shortEvent = (name: string): string => name.slice(name.lastIndexOf(":") + 1);

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
