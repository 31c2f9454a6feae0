/** What grew and shrank since a moment. */
import type { FunctionRow } from "./aggregate.ts";

/** Functions and what their shares are of. */
interface Functions {
  readonly rows: readonly FunctionRow[];
  readonly samples: number;
}

/** Functions of two times beside each other. */
export interface Changes {
  /** Rows of now, and rows that are gone. */
  readonly rows: readonly FunctionRow[];
  /** Percentage points that the own share grew. */
  of(row: FunctionRow): number;
}

const share = (row: FunctionRow | undefined, all: Functions): number =>
  row && all.samples > 0 ? (100 * row.self) / all.samples : 0;

/** Compares own shares: `then` is what it was. */
export function compare(now: Functions, then: Functions): Changes {
  const before = new Map(then.rows.map((row) => [row.function.id, row]));
  const current = new Set(now.rows.map((row) => row.function.id));
  const gone = then.rows
    .filter((row) => !current.has(row.function.id))
    .map((row) => ({ ...rowOf(row), self: 0, total: 0, pids: [], processCount: 0 }));
  const left = new Set<FunctionRow>(gone);
  const known = new WeakMap<FunctionRow, number>();
  const changeOf = (row: FunctionRow): number =>
    (left.has(row) ? 0 : share(row, now)) - share(before.get(row.function.id), then);
  return {
    rows: [...now.rows, ...gone],
    of: (row) => {
      let change = known.get(row);
      if (change === undefined) {
        change = changeOf(row);
        known.set(row, change);
      }
      return change;
    },
  };
}

/** The plain part of a row, whose processes are made when they are asked for. */
const rowOf = ({ function: info, line, why }: FunctionRow) => ({
  function: info,
  ...(why === undefined ? {} : { why }),
  ...(line === undefined ? {} : { line }),
});
