/** Shows the metrics: the health of each runtime in a table, then every counter by runtime. */

import { healthWord } from "../../model/health.ts";
import { TRAIL_CELLS } from "../../model/trails.ts";
import { tableLines } from "../../terminal/table.ts";
import { RUNTIME_LABELS } from "../../text/columns.ts";
import { cell, rate, sharePercent, thousands, truncate } from "../../text/format.ts";
import { drawTrail } from "../../text/trail.ts";
import { wrapWords } from "../../text/wrap.ts";
import { EVERY_RUNTIME, RUNTIMES, type Runtime } from "../../tick/runtimes.ts";
import type { CounterDefinition } from "../../tick/source.ts";
import type { Tick } from "../../tick/tick.ts";
import { Memo } from "../state/memo.ts";
import { listOf, visibleRows } from "../state/rows.ts";
import type { Session } from "../state/session.ts";
import { openPage } from "../state/transitions.ts";
import type { Paint, Theme } from "../theme.ts";
import { COUNTER_PAGE } from "./counter.ts";
import type { Body, BodyInput, View } from "./view.ts";

/** Counters that stand together. */
interface Group {
  readonly heading: string;
  readonly counters: readonly CounterDefinition[];
}

/** A counter, or the heading of a group. */
type Line = { readonly heading: string } | { readonly counter: CounterDefinition };

const isBad = ({ kind }: CounterDefinition): boolean =>
  kind === "error" || kind === "loss" || kind === "truncated";

/** Groups counters: what went wrong so far comes first, then runtimes in their order, then all others. */
function grouped(session: Session): Group[] {
  const counters = session.counters.toSorted((a, b) => a.id - b.id);
  const wrong = counters.filter((one) => isBad(one) && session.totals.metric(one.name) > 0);
  const rest = counters.filter((one) => !wrong.includes(one));
  const others = rest.map(({ runtime }) => runtime);
  const runtimes = [...new Set<string>([...RUNTIMES, ...others])];
  return [
    { heading: "went wrong since the start or c", counters: wrong },
    ...runtimes.map((runtime) => ({
      heading: labelOf(runtime),
      counters: rest.filter((one) => one.runtime === runtime),
    })),
  ].filter((group) => group.counters.length > 0);
}

const labelOf = (runtime: string): string => RUNTIME_LABELS[runtime as Runtime] ?? runtime;

/** Draws the health of each runtime as a table, a blank line below it, where there is room for it. */
function healthLines(
  { session, tick, width, height, theme }: BodyInput,
  memo: Memo<readonly string[]>,
): readonly string[] {
  const all = session.everything(tick);
  const rows = EVERY_RUNTIME.flatMap((runtime) => {
    const { samples, complete, guessed } = all.health[runtime];
    if (samples === 0) return [];
    const word = healthWord(complete, guessed, samples);
    const narrow = {
      RUNTIME: RUNTIME_LABELS[runtime].padEnd(7),
      "COMPLETE%": sharePercent(complete, samples).padStart(9),
    };
    // Ink's table wraps what is too wide: nothing may be.
    if (width < 46) return [narrow];
    const perSecond = rate(samples / (all.seconds || 1)).padStart(8);
    const health = cell(word, Math.max(10, width - 36), theme.glyphs).trimEnd();
    return [{ ...narrow, "STACKS/S": perSecond, HEALTH: health }];
  });
  if (rows.length === 0 || height < rows.length + 9) return [];
  const key = [width, ...rows.flatMap((row) => Object.values(row))];
  return memo.of(key, () => [...tableLines(rows, width), ""]);
}

/** Says what polytop itself costs, part by part, where there is room for it. */
function costLines({ tick, width, height, theme }: BodyInput): readonly string[] {
  const { bpfCpuPercent, parts } = tick.self;
  if (!parts || height < 16) return [];
  const words = [
    `threads ${parts.processPercent.toFixed(2)} %`,
    `children ${parts.childrenPercent.toFixed(2)} %`,
    `BPF ${bpfCpuPercent.toFixed(2)} %`,
    `ticks ${parts.ticksPercent.toFixed(2)} %, ${(parts.tickNanoseconds / 1000).toFixed(1)} us each`,
  ];
  return [
    truncate(` polytop itself, of one CPU: ${words.join("  ")}`, width, "end", theme.glyphs),
    "",
  ];
}

function metricsBody(input: BodyInput, memo: Memo<readonly string[]>): Body {
  const { session, tick, width, height, theme } = input;
  const groups = grouped(session);
  const ids = groups.flatMap(({ counters }) => counters.map(({ name }) => name));
  const health = [...healthLines(input, memo), ...costLines(input)];
  const room = height >= health.length + 9 ? 3 : 0;
  const page = Math.max(1, height - health.length - room);
  const lines: Line[] = groups.flatMap(({ heading, counters }) => [
    { heading },
    ...counters.map((counter) => ({ counter })),
  ]);
  // A heading cannot be selected.
  const lineIds = lines.map((line) => ("counter" in line ? line.counter.name : ""));
  const shown = visibleRows(listOf(lines, lineIds), session.state, page);
  const cells = width >= 70 ? Math.min(TRAIL_CELLS, Math.max(8, (width - 70) >> 1)) : 0;
  const trails = cells > 0 ? new CounterTrails(session, tick, cells) : undefined;
  const drawn = shown.rows.map((line, i) => {
    if ("heading" in line) return ` ${theme.bold(line.heading)}`;
    return counterLine(line.counter, i === shown.selected, { session, tick, width, theme, trails });
  });
  const selected = shown.rows[shown.selected];
  const counter = selected && "counter" in selected ? selected.counter : undefined;
  const blank = new Array<string>(Math.max(0, page - drawn.length)).fill("");
  const below = room > 0 ? explanation(counter, width, theme) : [];
  const body = ids.length === 0 ? [" no counters"] : [...drawn, ...blank, ...below];
  return {
    lines: [...health, ...body],
    ids,
    page,
    ...(shown.row ? { selected: shown.row } : {}),
  };
}

interface Drawing {
  readonly session: Session;
  readonly tick: Tick;
  readonly width: number;
  readonly theme: Theme;
  readonly trails: CounterTrails | undefined;
}

function counterLine(
  counter: CounterDefinition,
  isSelected: boolean,
  { session, tick, width, theme, trails }: Drawing,
): string {
  const { glyphs } = theme;
  const value = tick.metrics[counter.name] ?? 0;
  const total = session.totals.metric(counter.name);
  const hasTotal = width >= 60;
  const name = Math.min(36, Math.max(12, width - (hasTotal ? 30 : 14)));
  const perSecond = rate(value / (tick.intervalSeconds || 1)).padStart(hasTotal ? 7 : 6);
  const since = hasTotal ? ` ${thousands(total).padStart(13)}` : "";
  const pointer = isSelected ? glyphs.pointer : " ";
  const line = `${pointer} ${cell(counter.name, name, glyphs, "left", "middle")} ${perSecond}/s${since}`;
  const history = trails ? `  ${trails.line(counter.name, glyphs)}` : "";
  const room = width - line.length - trailsWidth(trails) - 4;
  const meaning = room >= 16 ? `  ${truncate(counter.meaning, room, "end", glyphs)}` : "";
  if (isSelected) return theme.inverse(cell(line + history + meaning, width - 1, glyphs));
  const isWrong = value > 0 && isBad(counter);
  const paint = isWrong ? theme.warning : total === 0 ? theme.dim : plain;
  return `${paint(line)}${history}${theme.dim(meaning)}`.trimEnd();
}

const plain: Paint = (text) => text;

const trailsWidth = (trails: CounterTrails | undefined): number => (trails ? trails.cells + 2 : 0);

/** A cell covers so much time, as with the functions. */
const CELL_MS = 4000;

/** Draws history lines of counters, which ticks hold anyway. A height is a share of the most there was. */
class CounterTrails {
  readonly cells: number;
  readonly #buckets: Readonly<Record<string, number>>[][];

  constructor(session: Session, tick: Tick, cells: number) {
    this.cells = cells;
    const { history } = session;
    const cellMs = Math.max(CELL_MS, Math.ceil(tick.intervalSeconds) * 1000);
    const last = Math.floor(tick.time / cellMs);
    this.#buckets = Array.from({ length: cells }, (_, i) => {
      const number = last - cells + 1 + i;
      const found: Readonly<Record<string, number>>[] = [];
      const end = Math.min(tick.time, (number + 1) * cellMs - 1);
      const places = history.placeAfter(end);
      for (let at = history.placeAfter(number * cellMs - 1); at < places; at++) {
        const header = history.at(at);
        if (header) found.push(header.metrics);
      }
      return found;
    });
  }

  line(name: string, glyphs: Theme["glyphs"]): string {
    const means = this.#buckets.map((found) =>
      found.length === 0
        ? 0
        : found.reduce((sum, metrics) => sum + (metrics[name] ?? 0), 0) / found.length,
    );
    const most = Math.max(...means);
    // A doubling from an eighth of a percent of the most on is a step.
    const shares = means.map((mean) => (most > 0 ? (50 * mean) / most : 0));
    return drawTrail(shares, glyphs);
  }
}

/** Draws three lines about the selected counter, whose meaning does not fit into its row. */
function explanation(
  counter: CounterDefinition | undefined,
  width: number,
  theme: Theme,
): string[] {
  const { glyphs } = theme;
  if (!counter) {
    const hint = "  a row that is selected is explained here";
    return ["", theme.dim(truncate(hint, width - 1, "end", glyphs)), ""];
  }
  const text = counter.hint === "" ? counter.meaning : `${counter.meaning}; ${counter.hint}`;
  const [first = "", second = ""] = wrapWords(text, Math.max(10, width - 4));
  return ["", ...[first, second].map((line) => `  ${truncate(line, width - 3, "end", glyphs)}`)];
}

export const metricsView: View = {
  id: "metrics",
  key: { name: "5", help: "metrics of the unwinders" },
  keys: ["rows"],
  makeBody: () => {
    const memo = new Memo<readonly string[]>();
    return (input) => metricsBody(input, memo);
  },
  open: (session, row) => session.update(openPage, COUNTER_PAGE, row, row),
};
