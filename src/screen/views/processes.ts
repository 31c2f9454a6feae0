/** Shows the processes that have samples as a tree, and their threads where these are wanted. */

import { sortProcesses } from "../../model/sort.ts";
import { type ThreadRow, threadRows } from "../../model/threads.ts";
import { isWaiting } from "../../model/waits/activity.ts";
import { threadStates } from "../../model/waits/states.ts";
import { COUNT_COLUMNS, EVENT_PROCESS_COLUMNS } from "../../text/event-columns.ts";
import {
  type ListedTask,
  PROCESS_COLUMNS,
  type ProcessContext,
} from "../../text/process-columns.ts";
import { drawTrail } from "../../text/trail.ts";
import { STATE_COLUMNS, WAITING_PROCESS_COLUMNS } from "../../text/wait-columns.ts";
import type { Tick } from "../../tick/tick.ts";
import { areSamples } from "../../tick/units.ts";
import { quoted } from "../state/complete.ts";
import { holdOrder, listOf } from "../state/rows.ts";
import type { Session } from "../state/session.ts";
import { RECENT_SECONDS } from "../state/state.ts";
import { narrow } from "../state/transitions.ts";
import { TableLayout } from "../table.ts";
import { listBody } from "./list.ts";
import type { DrawBody, View } from "./view.ts";

/** A row with its place in the tree. */
interface Placed {
  readonly row: ListedTask;
  readonly depth: number;
  readonly id: string;
}

/** The row of a process is its pid; that of threads has their name behind it. */
const threadsId = ({ pid, thread }: ThreadRow): string => `${pid} ${thread}`;

/** Takes the id of a row apart: its process, and the name of its threads. */
function partsOf(id: string): { readonly pid: string; readonly thread?: string } {
  const at = id.indexOf(" ");
  return at < 0 ? { pid: id } : { pid: id.slice(0, at), thread: id.slice(at + 1) };
}

/** Makes what draws the view; it remembers the layout for a width. */
function makeProcessBody(): DrawBody {
  const running = new TableLayout(PROCESS_COLUMNS);
  const waiting = new TableLayout(WAITING_PROCESS_COLUMNS);
  const counted = new TableLayout(EVENT_PROCESS_COLUMNS);
  return (input) => {
    const { session, tick, theme } = input;
    const { state, selectors } = session;
    const isNow = state.span === "now";
    const all = isNow ? selectors.steady(tick, state) : selectors.recent(tick, state);
    if (all.processes.length === 0) return undefined;
    const sorted = sortProcesses(all.processes, state.sort, state.reverse, tick.store.family);
    const placed = sorted.map((one) => ({ ...one, id: String(one.row.pid) }));
    const listed = state.threads ? withThreads(session, tick, placed) : placed;
    const ordered = holdOrder(listed, (one) => one.id, state.held?.ids);
    const depths = new Map(ordered.map((one) => [one.row, one.depth]));
    const trails = selectors.trails(tick, state);
    const states = threadStates(tick);
    const context: ProcessContext = {
      samples: all.samples,
      glyphs: theme.glyphs,
      moduleLine: true,
      samplesPerCpu: tick.frequency * all.seconds,
      seconds: all.seconds,
      states: (pid) => states.of.get(pid),
      depth: (row) => depths.get(row) ?? 0,
      trail: (row, cells) =>
        "thread" in row ? "" : drawTrail(trails.shares("pids", row.pid, cells), theme.glyphs),
    };
    const sums = new Map(sorted.map(({ row, sum }) => [row as ListedTask, sum]));
    const list = listOf(
      ordered.map(({ row }) => row),
      ordered.map(({ id }) => id),
      (row) => sums.get(row) ?? 0,
    );
    const counting = areSamples(tick.unit) ? running : counted;
    return listBody(isWaiting(tick) ? waiting : counting, list, context, input);
  };
}

/** Puts its threads behind each process; a single thread of the same name is no news. */
function withThreads(session: Session, tick: Tick, placed: readonly Placed[]): Placed[] {
  const { state, history, selectors } = session;
  const ticks =
    state.span === "now" ? selectors.steadyTicks(tick, state) : history.last(RECENT_SECONDS, tick);
  const threads = threadRows(ticks, selectors.options(state));
  return placed.flatMap((one) => {
    const rows = (threads.get(one.row.pid) ?? []).filter(
      (row) => row.startTime === one.row.startTime,
    );
    const isAlone = rows.length === 1 && rows[0]?.thread === one.row.comm;
    if (isAlone) return [one];
    return [one, ...rows.map((row) => ({ row, depth: one.depth + 1, id: threadsId(row) }))];
  });
}

/** Makes the process that is chosen and all below it the filter. */
export function narrowToFamily(session: Session): void {
  const id = session.chosenRow();
  if (id !== undefined) session.update(narrow, `tree:${partsOf(id).pid}`);
}

export const processesView: View = {
  id: "processes",
  key: { name: "2", help: "processes" },
  keys: ["samples", "sorted", "rows", "names", "processes"],
  columns: [...PROCESS_COLUMNS, ...STATE_COLUMNS, ...COUNT_COLUMNS],
  longestSpan: "recent",
  makeBody: makeProcessBody,
  open: (session, row) => {
    const { pid, thread } = partsOf(row);
    const words = thread === undefined ? "" : ` thread:${quoted(thread)}`;
    session.update(narrow, `pid:${pid}${words}`);
  },
};
