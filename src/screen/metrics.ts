/** The metrics view: health of each runtime in words, then every counter that matters first. */
import type { CounterDefinition } from "../collector/source.ts";
import type { Tick } from "../collector/tick.ts";
import { cell, rate, thousands, truncate } from "../model/format.ts";
import { healthLines } from "../model/health.ts";
import { visibleRows } from "../model/window.ts";
import { wrapWords } from "./help.ts";
import type { Body } from "./lists.ts";
import type { Theme } from "./paint.ts";
import type { Session } from "./session.ts";

/** A row of the table; the keys are the headings. */
export type MetricRow = Readonly<Record<string, string>>;

/** The body of the view: lines, the table, lines below it. */
export interface MetricsBody extends Body {
  readonly table?: readonly MetricRow[];
  readonly below?: readonly string[];
}

const MIN_MEANING = 16;

/** The lines above the table and the rows of it that fit. */
export function metricRows(
  session: Session,
  tick: Tick,
  width: number,
  height: number,
  theme: Theme,
): MetricsBody {
  const { glyphs } = theme;
  const health = healthLines(session.everything(tick)).map(({ runtime, text, poor }) => {
    const line = truncate(text, width - 2, "end", glyphs);
    return ` ${poor ? theme.warning(line) : theme.runtime[runtime](line)}`;
  });
  const above = height >= health.length + 8 ? [...health, ""] : [];
  const room = height >= above.length + 9 ? 3 : 0;
  const page = Math.max(1, height - above.length - 1 - room);
  const { counters } = session;
  const shown = visibleRows(counters, (counter) => counter.id, session.state, page);
  const body = { lines: above, ids: counters.map((one) => one.id), page };
  if (shown.rows.length === 0) return { ...body, lines: [...above, " no counters"] };
  const name = Math.min(36, Math.max(12, width - 28 - MIN_MEANING));
  const meaning = Math.max(0, width - name - 28);
  const table = shown.rows.map((counter, i) => {
    const mark = i === shown.selected ? glyphs.pointer : " ";
    const perSecond = (tick.metrics[counter.name] ?? 0) / (tick.intervalSeconds || 1);
    return {
      COUNTER: mark + cell(counter.name, name, "left", "middle", glyphs),
      "PER S": rate(perSecond).padStart(7),
      TOTAL: thousands(session.totals.metric(counter.name)).padStart(11),
      ...(meaning >= MIN_MEANING
        ? { MEANING: cell(explain(counter), meaning, "left", "end", glyphs) }
        : {}),
    };
  });
  return {
    ...body,
    table,
    below: room > 0 ? explanation(shown.rows, shown.selected, width, theme) : [],
  };
}

/** Three lines about the counter that is selected: what it means does not fit into its row. */
function explanation(
  rows: readonly CounterDefinition[],
  selected: number,
  width: number,
  theme: Theme,
): string[] {
  const counter = rows[selected];
  if (!counter)
    return [
      "",
      theme.dim(truncate("  a row that is selected is explained here", width, "end", theme.glyphs)),
      "",
    ];
  const [first = "", second = ""] = wrapWords(explain(counter), Math.max(10, width - 4));
  return [
    "",
    ...[first, second].map((line) => `  ${truncate(line, width - 3, "end", theme.glyphs)}`),
  ];
}

const explain = (counter: CounterDefinition): string =>
  counter.hint === "" ? counter.meaning : `${counter.meaning}; ${counter.hint}`;
