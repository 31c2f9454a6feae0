/** Shows a counter from near: which processes and which code are behind it. */

import { type Blame, blame, stackTest } from "../../model/blame.ts";
import { baseName } from "../../text/columns.ts";
import { cell, clock, percent, thousands, truncate } from "../../text/format.ts";
import { wrapWords } from "../../text/wrap.ts";
import type { CounterDefinition } from "../../tick/source.ts";
import type { Tick } from "../../tick/tick.ts";
import { Memo } from "../state/memo.ts";
import { selectedAmong, windowOffset } from "../state/rows.ts";
import type { Session } from "../state/session.ts";
import { narrow } from "../state/transitions.ts";
import type { Theme } from "../theme.ts";
import type { Body, BodyInput, View } from "./view.ts";

/** The id of the page. */
export const COUNTER_PAGE = "counter";

/** So many refreshes in which it counted are looked at, the newest first. */
const MAX_TICKS = 60;
/** So many stacks are looked at, which takes some milliseconds. */
const MAX_COUNTS = 20_000;

/** Finds the newest ticks up to `end` in which a counter stands above 0. */
function ticksWith(session: Session, counter: CounterDefinition, end: Tick): Tick[] {
  const { history } = session;
  const found: Tick[] = [];
  let counts = 0;
  for (let i = history.placeAfter(end.time) - 1; i >= 0; i--) {
    if (found.length >= MAX_TICKS || counts > MAX_COUNTS) break;
    if (!history.at(i)?.metrics[counter.name]) continue;
    const tick = history.at(i);
    if (!tick) break;
    found.push(tick);
    counts += tick.counts.length;
  }
  return found;
}

/** The ticks that were looked at, and who is behind the counter. */
interface Blamed {
  readonly ticks: readonly Tick[];
  readonly result: Blame;
}

function counterBody({ session, tick, width, height, theme }: BodyInput, memo: Memo<Blamed>): Body {
  const { glyphs } = theme;
  const counter = session.counters.find(({ name }) => name === session.state.opened);
  if (!counter) return { lines: ["", " no such counter"], ids: [], page: 1 };
  const text = (line: string): string => ` ${truncate(line, width - 2, "end", glyphs)}`;
  const said = [counter.meaning, counter.hint].filter((line) => line !== "");
  const since = `   ${thousands(session.totals.metric(counter.name))} since the start or c`;
  const name = truncate(counter.name, Math.max(8, width - 2 - since.length), "middle", glyphs);
  const head = [
    ` ${theme.bold(name)}${truncate(since, width - 2 - name.length, "end", glyphs)}`,
    ...said.flatMap((line) => wrapWords(line, Math.max(20, width - 3))).map(text),
    "",
  ];
  const nothing = (line: string): Body => ({ lines: [...head, text(line)], ids: [], page: 1 });
  if (!stackTest(counter)) {
    return nothing("It counts no stacks: no process or file can be named for it.");
  }
  const { ticks, result } = memo.of([counter, tick], () => {
    const found = ticksWith(session, counter, tick);
    return { ticks: found, result: blame(found, counter) };
  });
  if (result.samples === 0) {
    const covered = tick.time - (session.history.at(0)?.time ?? tick.time);
    return nothing(`No stack of the last ${clock(covered / 1000)} was counted by it.`);
  }
  const span = clock((tick.time - (ticks.at(-1)?.time ?? tick.time)) / 1000 + tick.intervalSeconds);
  const room = Math.max(1, height - head.length - 2);
  const ids = result.processes.map(({ pid }) => String(pid));
  const row = selectedAmong(ids, session.state);
  const selected = row?.place ?? -1;
  const first = windowOffset(0, selected, result.processes.length, room);
  const each = Math.floor((width - 3) / 2) - 1;
  const left = result.processes.slice(first, first + room).map(({ pid, comm, count }, i) => {
    const mark = first + i === selected ? glyphs.pointer : " ";
    const line = `${percent(count, result.samples).padStart(5)} % ${String(pid).padStart(7)} ${comm}`;
    return mark + cell(line, each - 1, glyphs);
  });
  const right = places(result, each, theme);
  const lines = Array.from(
    { length: Math.min(room, Math.max(left.length, right.length)) },
    (_, i) => ` ${left[i] ?? " ".repeat(each)}  ${right[i] ?? ""}`.trimEnd(),
  );
  const heading = ` ${cell(" PROCESSES", each, glyphs)}  WHERE THE WALK ENDED`;
  return {
    lines: [
      ...head,
      text(`${thousands(result.samples)} samples in the last ${span}`),
      theme.bold(truncate(heading, width - 1, "end", glyphs)),
      ...lines,
    ],
    ids,
    page: room,
    ...(row ? { selected: row } : {}),
  };
}

/** Lists functions, then the files they are in. */
function places({ samples, places: found, files }: Blame, width: number, theme: Theme): string[] {
  const line = (name: string, count: number): string =>
    cell(`${percent(count, samples).padStart(5)} % ${name}`, width, theme.glyphs, "left", "middle");
  const functions = found.slice(0, 12).map(({ function: info, count }) => {
    const module = info ? baseName(info.module) : "";
    return line(
      info ? `${theme.nameOf(info)}${module && `  ${module}`}` : "(no frame was found)",
      count,
    );
  });
  const heading = theme.bold(cell("FILES", width, theme.glyphs));
  return [
    ...functions,
    "",
    ...(files.length > 0
      ? [heading, ...files.map(({ module, count }) => line(module, count))]
      : []),
  ];
}

export const counterPage: View = {
  id: COUNTER_PAGE,
  keys: ["rows", "names", "page"],
  makeBody: () => {
    const memo = new Memo<Blamed>();
    return (input) => counterBody(input, memo);
  },
  open: (session, row) => session.update(narrow, `pid:${row}`),
};
