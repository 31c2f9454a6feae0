/** The processes view: a tree of those with samples, and their threads where these are wanted. */

import { type ListedTask, PROCESS_COLUMNS, type ProcessContext } from "../model/process-columns.ts";
import { sortProcesses } from "../model/sort.ts";
import { RECENT_SECONDS } from "../model/state.ts";
import { type ThreadRow, threadRows } from "../model/threads.ts";
import { drawTrail } from "../model/trails.ts";
import { holdOrder, visibleRows } from "../model/window.ts";
import type { Tick } from "../tick/tick.ts";
import type { Body, BodyInput } from "./body.ts";
import type { ListTools } from "./lists.ts";
import type { Session } from "./session.ts";
import { headingRow, listRow, TableLayout } from "./table.ts";

/** A row with its place in the tree. */
interface Placed {
  readonly row: ListedTask;
  readonly depth: number;
  readonly id: number;
}

/** Names of threads that were listed: their number is a part of the identity of a row. */
const threadNames = new Map<number, string>();
const threadNumbers = new Map<string, number>();
let lastNumber = 0;

/** Programs may name threads as they like: the names that were met first are forgotten when there are more. */
const MAX_THREAD_NAMES = 20_000;

/** Numbers begin again behind this: a row's identity is a whole number below 2^53. */
const MAX_NUMBER = 2 ** 20;

function threadRowId({ pid, thread }: ThreadRow): number {
  let number = threadNumbers.get(thread);
  if (number === undefined) {
    number = (lastNumber % MAX_NUMBER) + 1;
    lastNumber = number;
    threadNames.set(number, thread);
    threadNumbers.set(thread, number);
    forgetOldest();
  }
  return number * 2 ** 32 + pid;
}

function forgetOldest(): void {
  const oldest = threadNames.entries().next().value;
  if (!oldest || threadNames.size <= MAX_THREAD_NAMES) return;
  threadNames.delete(oldest[0]);
  threadNumbers.delete(oldest[1]);
}

/** The name of the thread of a row; empty where it was forgotten. */
export const threadOfRow = (id: number): string => threadNames.get(Math.floor(id / 2 ** 32)) ?? "";

/** Remembers the layout for a width. */
export class ProcessList {
  readonly #tools: ListTools;
  readonly #layout = new TableLayout(PROCESS_COLUMNS);

  constructor(tools: ListTools) {
    this.#tools = tools;
  }

  /** The view. */
  body({ session, tick, width, height, theme }: BodyInput): Body {
    const { state, looks } = session;
    const isNow = state.span === "now";
    const all = isNow ? looks.picture(tick, state) : looks.recent(tick, state);
    const placed: Placed[] = sortProcesses(
      all.processes,
      state.sort,
      state.reverse,
      session.family,
    ).map(({ row, depth }) => ({ row, depth, id: row.pid }));
    const listed = state.threads ? withThreads(session, tick, placed) : placed;
    const ordered = holdOrder(listed, (one) => one.id, state.held?.ids);
    const page = Math.max(0, height - 1);
    const shown = visibleRows(ordered, (one) => one.id, state, page);
    const depths = new Map(shown.rows.map((one) => [one.row, one.depth]));
    const trails = looks.trails(tick, state);
    const { cgroups } = this.#tools;
    const context: ProcessContext = {
      samples: all.samples,
      glyphs: theme.glyphs,
      moduleLine: true,
      samplesPerCpu: tick.frequency * all.seconds,
      user: this.#tools.user,
      depth: (row) => depths.get(row) ?? 0,
      cgroup: (row) => ("thread" in row ? "" : (cgroups?.name(row) ?? "")),
      trail: (row, cells) =>
        "thread" in row ? "" : drawTrail(trails.shares("pids", row.pid, cells), theme.glyphs),
    };
    const rows = shown.rows.map((one) => one.row);
    const layout = this.#layout.fit(width, rows, context);
    const none = (): undefined => undefined;
    const lines = shown.rows.map(({ row }, i) =>
      listRow(layout, row, context, i === shown.selected, none, theme),
    );
    return {
      lines: [headingRow(layout, state.sort, state.reverse, theme), ...lines],
      ids: ordered.map((one) => one.id),
      page,
    };
  }
}

/** Each process followed by its threads; one that has a single thread of its own name by none. */
function withThreads(session: Session, tick: Tick, placed: readonly Placed[]): Placed[] {
  const { state, history, family } = session;
  const { filter, kernel, nativeFrames } = state;
  const ticks = state.span === "now" ? [tick] : history.last(RECENT_SECONDS, tick);
  const options = { ...(filter ? { filter } : {}), kernel, nativeFrames, parents: family };
  const threads = threadRows(ticks, options);
  return placed.flatMap((one) => {
    const rows = (threads.get(one.row.pid) ?? []).filter(
      (row) => row.startTime === one.row.startTime,
    );
    const isAlone = rows.length === 1 && rows[0]?.thread === one.row.comm;
    if (isAlone) return [one];
    return [one, ...rows.map((row) => ({ row, depth: one.depth + 1, id: threadRowId(row) }))];
  });
}
