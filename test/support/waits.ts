/** What test/workloads/waits.c waits for, and the form in which polytop tells of it. */
import type { Snapshot } from "./profile.ts";

type FunctionObject = Snapshot["functions"][number];

/** One refresh of `-e wait --json`. */
export type WaitSnapshot = Omit<Snapshot, "functions"> & {
  readonly schema: string;
  readonly functions: readonly (FunctionObject & {
    readonly why?: string;
    readonly ageSeconds?: number;
  })[];
  readonly waiting: {
    readonly threads: number;
    readonly running: number;
    readonly runnable: number;
    readonly blocked: number;
    readonly idle: number;
    readonly deadlocks: readonly (readonly number[])[];
    readonly holders: readonly {
      readonly tid?: number;
      readonly pid?: number;
      readonly thread?: string;
      readonly does?: string;
      readonly stack: readonly string[];
    }[];
    readonly longWaits: readonly {
      readonly tid: number;
      readonly why: string;
      readonly seconds: number;
      readonly uninterruptible: boolean;
      readonly owner?: number;
    }[];
  };
};

/** What its functions wait for, those that are never idle. */
export const WAIT_KINDS: Readonly<Record<string, string>> = {
  lock_right: "lock",
  lock_left: "lock",
  wait_for_condition: "futex",
  read_pipe: "pipe",
  read_socket: "socket",
  poll_socket: "socket",
  select_pipe: "pipe",
  sleep_long: "sleep",
  lock_file: "file lock",
};

/** What its functions wait for that are idle once that has lasted. */
export const IDLE_KINDS: Readonly<Record<string, string>> = {
  accept_connection: "socket accept",
  wait_for_events: "poll",
  wait_for_child: "child",
  wait_for_signal: "signal",
};

const SHARED = ["six_units", "three_units", "one_unit"];
/** What these three have of the waiting, in percent. */
export const WAIT_SHARES = [60, 30, 10];

/** The functions of these refreshes that wait for something else than they should, or are not there. */
export function wrongKinds(
  snapshots: readonly WaitSnapshot[],
  kinds: Readonly<Record<string, string>> = WAIT_KINDS,
): string[] {
  const rows = snapshots.flatMap(({ functions }) => functions.filter(({ self }) => self > 0));
  return Object.entries(kinds).flatMap(([name, why]) => {
    const found = new Set(rows.filter((row) => row.name === name).map((row) => row.why));
    return found.size === 1 && found.has(why) ? [] : [`${name}: ${[...found].join() || "missing"}`];
  });
}

/** The shares of the three functions in what all of them wait. */
export function sharesOf(snapshots: readonly WaitSnapshot[]): number[] {
  const rows = snapshots.flatMap(({ functions }) => functions);
  const sums = SHARED.map((name) =>
    rows.filter((row) => row.name === name).reduce((sum, { self }) => sum + self, 0),
  );
  const all = sums.reduce((sum, one) => sum + one, 0);
  return sums.map((sum) => (100 * sum) / all);
}
