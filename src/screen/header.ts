/** The lines above the list: is the machine busy, with what, and can it be trusted. */

import type { Aggregate } from "../model/aggregate.ts";
import { RUNTIME_LABELS } from "../model/columns.ts";
import {
  bar,
  bytes,
  type Cut,
  cell,
  clock,
  displayWidth,
  percent,
  rate,
  seconds,
  sharePercent,
  timeOfDay,
  truncate,
} from "../model/format.ts";
import { busyShare } from "../model/health.ts";
import { RECENT_SECONDS, type ViewState } from "../model/state.ts";
import { listed } from "../tick/runtimes.ts";
import type { Tick } from "../tick/tick.ts";
import type { Paint, Theme } from "./paint.ts";

/** A part of a line that is left out as a whole when there is no room. */
export interface Piece {
  readonly text: string;
  /** The highest goes first; 0 stays. */
  readonly giveWay: number;
  readonly paint?: Paint;
  /** Cells that it may be cut down to before it is left out; it is the last of its line. */
  readonly least?: number;
  /** Where it is cut. */
  readonly cut?: Cut;
}

/** As many pieces as fit into `width`, `gap` cells between them. The last of what stays is cut. */
export function fitPieces(
  pieces: readonly Piece[],
  width: number,
  gap: number,
  theme: Theme,
): string {
  let chosen = pieces.filter((piece) => piece.text !== "");
  const least = (piece: Piece): number =>
    Math.min(displayWidth(piece.text), piece.least ?? Number.POSITIVE_INFINITY);
  const total = (): number =>
    chosen.reduce((sum, piece) => sum + least(piece), 0) + gap * (chosen.length - 1);
  while (chosen.length > 1 && total() > width) {
    const first = chosen.reduce((most, piece) => (piece.giveWay > most.giveWay ? piece : most));
    if (first.giveWay === 0) break;
    chosen = chosen.filter((piece) => piece !== first);
  }
  let room = width;
  const parts: string[] = [];
  for (const piece of chosen) {
    if (room <= 0) break;
    const text = truncate(piece.text, room, piece.cut ?? "end", theme.glyphs);
    parts.push(piece.paint ? piece.paint(text) : text);
    room -= displayWidth(text) + gap;
  }
  return parts.join(" ".repeat(gap));
}

/** What the header tells besides the tick. */
export interface HeaderData {
  readonly tick: Tick | undefined;
  /** Of the whole tick, no filter. */
  readonly all: Aggregate | undefined;
  readonly host: string;
  readonly view: ViewState;
  /** The newest tick's time, for how old a frozen one is. */
  readonly now: number;
  readonly error: string | undefined;
  /** Of the source, besides those of the tick. */
  readonly notice: string | undefined;
  /** The ticks are of a recording: when they were is news. */
  readonly isReplay: boolean;
  /** How long ago totals were cleared. */
  readonly sinceSeconds: number;
}

/** How many lines the header takes in a window of `rows`. */
export const headerHeight = (rows: number): number => (rows < 8 ? 1 : rows < 14 ? 2 : 3);

/** The header, a string for each line. */
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
  { tick, host, view, isReplay }: HeaderData,
  width: number,
  theme: Theme,
): string {
  const name: Piece = { text: "polytop", giveWay: 5, paint: theme.bold };
  if (!tick) return fitPieces([name, { text: host, giveWay: 0 }], width, 3, theme);
  const what = `${tick.event} ${tick.frequency} Hz`;
  const only =
    tick.pids.length > 0
      ? `pid ${tick.pids.slice(0, 3).join(",")}${tick.pids.length > 3 ? theme.glyphs.ellipsis : ""}: `
      : "";
  const cpus = `${tick.cpus} CPU${tick.cpus === 1 ? "" : "s"}`;
  // Fixed places for what changes: nothing on this line moves.
  const share = percent(busyShare(tick), 1).padStart(4);
  const busy = only === "" ? `${cpus} ${share} % busy` : `${only}${share} % of ${cpus}`;
  const perSecond = rate(tick.samples / (tick.intervalSeconds || 1)).padStart(5);
  return fitPieces(
    [
      name,
      { text: host, giveWay: 2 },
      { text: what, giveWay: 4 },
      { text: busy, giveWay: 0, paint: theme.bold },
      { text: `${perSecond} samples/s`, giveWay: 3 },
      { text: isReplay ? `replay ${timeOfDay(tick.time)}` : "", giveWay: 1, paint: theme.bold },
      { text: `every ${seconds(view.delaySeconds)}`, giveWay: 1 },
    ],
    width,
    3,
    theme,
  );
}

function runtimeLine({ all }: HeaderData, width: number, theme: Theme): string {
  if (!all) return "";
  const runtimes = listed(all.runtimes);
  const slot = Math.floor((width + 2) / runtimes.length) - 2;
  return runtimes
    .map((runtime) => {
      const label = RUNTIME_LABELS[runtime];
      const share = all.samples > 0 ? all.runtimes[runtime] / all.samples : 0;
      const number = percent(share, 1).padStart(4);
      const cells = slot - label.length - number.length - 2;
      const paint = theme.runtime[runtime];
      if (cells < 3) {
        const short = Math.round(100 * share).toString();
        return paint(cell(`${label} ${short}`, slot, "left", "end", theme.glyphs));
      }
      const drawn = cell(bar(share, cells, theme.glyphs), cells, "left", "end", theme.glyphs);
      return `${paint(label)} ${paint(drawn)} ${number}`;
    })
    .join("  ")
    .trimEnd();
}

function trustLine(data: HeaderData, width: number, theme: Theme): string {
  const { tick, all, view, error } = data;
  const force = inForce(data, theme);
  if (error !== undefined) {
    return fitPieces([{ text: `! ${error}`, giveWay: 0, paint: theme.warning }], width, 3, theme);
  }
  if (!tick || !all) return fitPieces(force, width, 3, theme);
  const complete = sharePercent(all.outcomes.complete, all.samples).padStart(4);
  const doubtful = all.samples > 50 && all.outcomes.complete < all.samples * 0.97;
  const missed: Piece = {
    text: `${tick.missed} missed`,
    giveWay: tick.missed > 0 ? 2 : 4,
    ...(tick.missed > 0 ? { paint: theme.bold } : {}),
  };
  const said = data.notice === undefined ? tick.notices : [...tick.notices, data.notice];
  const notices: Piece[] = said.map((text) => ({
    text: `! ${text}`,
    giveWay: 3,
    least: 34,
    paint: theme.bold,
  }));
  return fitPieces(
    [
      ...(view.frozen ? force.slice(0, 1) : []),
      {
        text: `${complete} % complete`,
        giveWay: 1,
        ...(doubtful ? { paint: theme.warning } : {}),
      },
      missed,
      {
        text: `polytop ${tick.self.cpuPercent.toFixed(1)} % cpu ${bytes(tick.self.rssBytes)}`,
        giveWay: 5,
      },
      ...(view.frozen ? force.slice(1) : force),
      ...notices,
    ],
    width,
    3,
    theme,
  );
}

/** What narrows or stops the picture, the frozen moment first. */
function inForce({ tick, view, now, sinceSeconds }: HeaderData, theme: Theme): Piece[] {
  const pieces: Piece[] = [];
  if (view.frozen && tick) {
    const age = clock((now - tick.time) / 1000);
    const text = ` frozen ${timeOfDay(tick.time)}, ${age} ago `;
    pieces.push({ text, giveWay: 0, paint: theme.inverse });
  }
  if (view.mark && tick) {
    const text = `against ${timeOfDay(view.mark.time)}`;
    pieces.push({ text, giveWay: 0, paint: theme.bold });
  } else if (view.span !== "now" && (view.view === "functions" || view.view === "processes")) {
    const isSince = view.span === "since" && view.view === "functions";
    const text = isSince ? `since c: ${clock(sinceSeconds)}` : `last ${RECENT_SECONDS} s`;
    pieces.push({ text, giveWay: 0, paint: theme.bold });
  }
  if (view.filterText !== "") {
    pieces.push({ text: `filter ${view.filterText}`, giveWay: 0, paint: theme.bold });
  }
  if (view.language) {
    pieces.push({ text: `only ${RUNTIME_LABELS[view.language]}`, giveWay: 0, paint: theme.bold });
  }
  if (!view.kernel) pieces.push({ text: "no kernel", giveWay: 0, paint: theme.bold });
  return pieces;
}
