/** Draws the lines above the list: is the machine busy, with what, and can it be trusted? */

import type { Aggregate } from "../model/aggregate.ts";
import { busyShare } from "../model/health.ts";
import { isWaiting } from "../model/waits/activity.ts";
import { RUNTIME_LABELS } from "../text/columns.ts";
import {
  bar,
  bytes,
  cell,
  clock,
  percent,
  rate,
  seconds,
  sharePercent,
  timeOfDay,
} from "../text/format.ts";
import { statesText } from "../text/wait-columns.ts";
import { listed, type Runtime } from "../tick/runtimes.ts";
import type { Tick } from "../tick/tick.ts";
import { areSamples, unitRow } from "../tick/units.ts";
import { fitPieces, type Piece } from "./pieces.ts";
import { RECENT_SECONDS, type ViewState } from "./state/state.ts";
import type { Theme } from "./theme.ts";
import type { View } from "./views/view.ts";

/** The header is drawn of these. */
export interface HeaderData {
  readonly tick: Tick | undefined;
  /** The whole tick added up, without any filter. */
  readonly all: Aggregate | undefined;
  readonly host: string;
  readonly state: ViewState;
  readonly view: View;
  /** The time of the newest tick says how old a frozen one is. */
  readonly now: number;
  readonly error: string | undefined;
  /** What is to be known of the source and the tick. */
  readonly notices: readonly string[];
  /** The ticks come from a recording: when they were is news. */
  readonly isReplay: boolean;
  /** Totals were cleared so long ago. */
  readonly sinceSeconds: number;
  /** Percentages of now are of so long. */
  readonly steadySeconds: number;
}

/** Says how many lines the header takes in a window of `rows`. */
export const headerHeight = (rows: number): number => (rows < 8 ? 1 : rows < 14 ? 2 : 3);

/** Draws the header, a string for each line. */
export function headerLines(data: HeaderData, width: number, rows: number, theme: Theme): string[] {
  const lines = [
    machineLine(data, width - 1, theme),
    trustLine(data, width - 1, theme),
    runtimeLine(data, width - 1, theme),
  ].map((line) => (line === "" ? "" : ` ${line}`));
  const [machine = "", trust = "", runtimes = ""] = lines;
  const height = headerHeight(rows);
  return height === 1 ? [machine] : height === 2 ? [machine, trust] : [machine, runtimes, trust];
}

function machineLine(
  { tick, host, state, isReplay }: HeaderData,
  width: number,
  theme: Theme,
): string {
  const name: Piece = { text: "polytop", giveWay: 5, paint: theme.bold };
  if (!tick) return fitPieces([name, { text: host }], width, 3, theme);
  const what = `${tick.event} ${tick.frequency} Hz`;
  const only =
    tick.pids.length > 0
      ? `pid ${tick.pids.slice(0, 3).join(",")}${tick.pids.length > 3 ? theme.glyphs.ellipsis : ""}: `
      : "";
  const cpus = `${tick.cpus} CPU${tick.cpus === 1 ? "" : "s"}`;
  // What changes has a fixed place: nothing on this line moves.
  const share = percent(busyShare(tick), 1).padStart(4);
  const shareOfCpus = only === "" ? `${cpus} ${share} % busy` : `${only}${share} % of ${cpus}`;
  const busy = areSamples(tick.unit) ? shareOfCpus : only + otherUnit(tick, cpus);
  const perSecond = tick.samples / (tick.intervalSeconds || 1);
  const amount = areSamples(tick.unit)
    ? `${rate(perSecond).padStart(5)} samples`
    : unitRow(tick.unit).text(Math.round(perSecond));
  return fitPieces(
    [
      name,
      { text: host, giveWay: 2 },
      { text: what, giveWay: 4 },
      { text: busy, paint: theme.bold },
      { text: `${amount}/s`, giveWay: 3 },
      { text: isReplay ? `replay ${timeOfDay(tick.time)}` : "", giveWay: 1, paint: theme.bold },
      { text: `every ${seconds(state.delaySeconds)}`, giveWay: 1 },
    ],
    width,
    3,
    theme,
  );
}

/** Threads may be visited for the history while an event is looked at that says nothing of them. */
const otherUnit = (tick: Tick, cpus: string): string => (isWaiting(tick) ? statesText(tick) : cpus);

/** The fewest cells in which a bar says something. */
const SHORTEST_BAR = 3;

/** The cells of a share: "99.9" is the longest. */
const SHARE_CELLS = 4;

function runtimeLine({ all }: HeaderData, width: number, theme: Theme): string {
  if (!all) return "";
  const slotOf = (shown: readonly Runtime[]): number => Math.floor((width + 2) / shown.length) - 2;
  const cellsOf = (runtime: Runtime, slot: number): number =>
    slot - RUNTIME_LABELS[runtime].length - SHARE_CELLS - 2;
  const hasBars = (shown: readonly Runtime[]): boolean =>
    shown.every((it) => cellsOf(it, slotOf(shown)) >= SHORTEST_BAR);
  const known = listed(all.runtimes);
  // Where there is no room for a bar of each, runtimes that nothing runs on give way.
  const met = known.filter((it) => all.runtimes[it] > 0);
  const shown = hasBars(known) || met.length === 0 ? known : met;
  const slot = slotOf(shown);
  const isDrawn = hasBars(shown);
  return shown
    .map((runtime) => {
      const label = RUNTIME_LABELS[runtime];
      const share = all.samples > 0 ? all.runtimes[runtime] / all.samples : 0;
      const paint = theme.runtime[runtime];
      if (!isDrawn) {
        const short = Math.round(100 * share).toString();
        return paint(cell(`${label} ${short}`, slot, theme.glyphs));
      }
      const number = percent(share, 1).padStart(SHARE_CELLS);
      const cells = cellsOf(runtime, slot);
      const drawn = cell(bar(share, cells, theme.glyphs), cells, theme.glyphs);
      return `${paint(label)} ${paint(drawn)} ${number}`;
    })
    .join("  ")
    .trimEnd();
}

function trustLine(data: HeaderData, width: number, theme: Theme): string {
  const { tick, all, state, error } = data;
  const force = inForce(data, theme);
  if (error !== undefined) {
    return fitPieces([{ text: `! ${error}`, paint: theme.warning }], width, 3, theme);
  }
  if (!tick || !all) return fitPieces(force, width, 3, theme);
  const complete = sharePercent(all.outcomes.complete, all.samples).padStart(4);
  const doubtful = all.samples > 50 && all.outcomes.complete < all.samples * 0.97;
  const guessed: Piece = {
    text: all.outcomes.guessed > 0 ? `${percent(all.outcomes.guessed, all.samples)} % guessed` : "",
    giveWay: 2,
  };
  const missed: Piece = {
    text: `${areSamples(tick.unit) ? tick.missed : unitRow(tick.unit).text(tick.missed)} missed`,
    giveWay: tick.missed > 0 ? 2 : 4,
    ...(tick.missed > 0 ? { paint: theme.bold } : {}),
  };
  const notices: Piece[] = data.notices.map((text) => ({
    text: `! ${text}`,
    giveWay: 3,
    least: 34,
    paint: theme.bold,
  }));
  return fitPieces(
    [
      ...(state.frozen ? force.slice(0, 1) : []),
      {
        text: `${complete} % complete`,
        giveWay: 1,
        ...(doubtful ? { paint: theme.warning } : {}),
      },
      guessed,
      missed,
      {
        text: `polytop ${tick.self.cpuPercent.toFixed(1)} % cpu ${bytes(tick.self.rssBytes)}`,
        giveWay: 5,
      },
      ...(state.frozen ? force.slice(1) : force),
      ...notices,
    ],
    width,
    3,
    theme,
  );
}

/** Names what narrows or stops the picture, the frozen moment first. */
function inForce(
  { tick, state, view, now, sinceSeconds, steadySeconds }: HeaderData,
  theme: Theme,
): Piece[] {
  const { frozen, mark, span, filterText, language, kernel, idle, physical } = state;
  const pieces: Piece[] = [];
  const say = (text: string, paint = theme.bold): number => pieces.push({ text, paint });
  if (frozen && tick) {
    const age = clock((now - tick.time) / 1000);
    say(` frozen ${timeOfDay(tick.time)}, ${age} ago `, theme.inverse);
  }
  if (mark && tick) {
    say(`against ${timeOfDay(mark.time)}`);
  } else if (span !== "now" && view.longestSpan) {
    const isSince = span === "since" && view.longestSpan === "since";
    say(isSince ? `since c: ${clock(sinceSeconds)}` : `last ${RECENT_SECONDS} s`);
  } else if (view.longestSpan && tick && steadySeconds > tick.intervalSeconds) {
    pieces.push({ text: `shares of ${seconds(steadySeconds)}`, giveWay: 4 });
  }
  if (filterText !== "") say(`filter ${filterText}`);
  if (language) say(`only ${RUNTIME_LABELS[language]}`);
  if (!kernel) say("no kernel");
  if (physical) say("no async");
  if (idle && tick && isWaiting(tick)) say("idle too");
  return pieces;
}
