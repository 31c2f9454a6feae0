/** Draws who waits in a function: since when, where in the kernel, and what the thread does that holds the lock. */
import type { Holder, WaitingThread } from "../../model/waits/holders.ts";
import { cell, clock, truncate } from "../../text/format.ts";
import { REASON_LABELS, type Reason } from "../../tick/waits.ts";
import type { Theme } from "../theme.ts";

/** Frames of a holder are so many at most: they are told on one line. */
const HOLDER_FRAMES = 12;

/** A thread and its holder take so many lines, and what they have in common another one. */
const LINES_PER_THREAD = 2;

const CLOCK_CELLS = 7;
const THREAD_CELLS = 24;

/** Says in at most `room` lines who waits; none where nobody does. */
export function waitLines(
  threads: readonly WaitingThread[],
  width: number,
  room: number,
  theme: Theme,
): string[] {
  const [first] = threads;
  if (!first || room < 1 + LINES_PER_THREAD) return [];
  const { glyphs } = theme;
  const lines: string[] = [];
  let told = 0;
  for (const thread of threads) {
    const more = [threadLine(thread, width, theme), ...holderLines(thread, width, theme)];
    // The last line says how many are left out.
    const needed = told + 1 < threads.length ? 1 : 0;
    if (1 + lines.length + more.length + needed > room) break;
    lines.push(...more);
    told++;
  }
  const rest = threads.length - told;
  const heading = theme.bold(` ${truncate(summary(threads), width - 2, "end", glyphs)}`);
  return [heading, ...lines, ...(rest > 0 ? [`   and ${rest} more`] : [])];
}

function summary(threads: readonly WaitingThread[]): string {
  const count = new Set(threads.map(({ task }) => task.tid)).size;
  const reasons = [...new Set(threads.map(({ reason }) => REASON_LABELS[reason]))].join(", ");
  const longest = threads[0]?.seconds ?? 0;
  const since = longest < 1 ? "" : `, the longest for ${clock(longest)}`;
  return `WAITING  ${count} thread${count === 1 ? "" : "s"} in this refresh: ${reasons}${since}`;
}

function threadLine(thread: WaitingThread, width: number, theme: Theme): string {
  const { glyphs } = theme;
  const { task, seconds, kernel, isUninterruptible } = thread;
  const isShort = seconds === undefined || seconds < 1;
  const age = cell(isShort ? "< 1 s" : clock(seconds), CLOCK_CELLS, glyphs, "right");
  const name = cell(`${task.tid} ${task.thread}`, THREAD_CELLS, glyphs);
  const place = kernel.length > 0 ? kernel.join(" < ") : "not in the kernel";
  const text = `${age}  ${name} ${isUninterruptible ? "D " : ""}${place}`;
  return ` ${truncate(text, width - 2, "end", glyphs)}`;
}

function holderLines(thread: WaitingThread, width: number, theme: Theme): string[] {
  const { glyphs } = theme;
  const text = thread.holder ? holderText(thread.holder, theme) : thread.whyNoHolder;
  if (text === undefined) return [];
  const said = thread.holder ? text : `holder not known: ${text}`;
  return [`   ${" ".repeat(CLOCK_CELLS)}${truncate(said, width - CLOCK_CELLS - 4, "end", glyphs)}`];
}

const doingText = (does: "runs" | Reason | undefined): string => {
  if (does === undefined) return "which was not met in this refresh";
  if (does === "runs") return "which runs";
  if (does === "cpu") return "which waits for a CPU";
  return `which waits: ${REASON_LABELS[does]}`;
};

function holderText({ tid, isProcess, task, does, seconds, stack }: Holder, theme: Theme): string {
  const who = `held by ${isProcess ? "process " : ""}${tid}${task ? ` ${isProcess ? task.comm : task.thread}` : ""}`;
  const since = seconds === undefined ? "" : ` for ${clock(seconds)}`;
  const frames = stack.slice(0, HOLDER_FRAMES).map((info) => theme.nameOf(info));
  const where = frames.length > 0 ? `: ${frames.join(" < ")}` : "";
  return `${who}, ${doingText(does)}${since}${where}`;
}
