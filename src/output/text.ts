/** `--batch` and `--once`: a table each refresh, header lines with `#`, numbers first, for awk and eyes. */

import type { Aggregate, FunctionRow } from "../model/aggregate.ts";
import { otherSums } from "../model/events.ts";
import { busyShare } from "../model/health.ts";
import { isWaiting } from "../model/waits/activity.ts";
import { waitAges } from "../model/waits/states.ts";
import { FUNCTION_COLUMNS, type FunctionContext, RUNTIME_LABELS } from "../text/columns.ts";
import { withEventColumns } from "../text/event-columns.ts";
import { ASCII_GLYPHS, bytes, displayWidth, percent, sharePercent } from "../text/format.ts";
import { statesText, WAITING_COLUMNS } from "../text/wait-columns.ts";
import { cleanName } from "../tick/clean-name.ts";
import { listed } from "../tick/runtimes.ts";
import type { Tick } from "../tick/tick.ts";
import { areSamples, unitRow } from "../tick/units.ts";
import { firstRows, type Sink, type SinkOptions, sumsOf } from "./sink.ts";

/** Longer texts are never cut, they push what follows to the right: a script wants all of a name. */
const MAX_PADDING = 48;

/** A sink that writes each refresh as a table. */
export function textSink(options: SinkOptions): Sink {
  let isFirst = true;
  return {
    tick: (tick) => {
      const gap = isFirst ? "" : "\n";
      isFirst = false;
      return gap + table(tick, options);
    },
    end: () => "",
  };
}

function table(tick: Tick, options: SinkOptions): string {
  const { filter } = options;
  const sums = sumsOf(tick, options);
  const rows = firstRows(sums.functions, options);
  const lines = [...header(tick, sums, filter?.text ?? ""), ...body(rows, sums, tick, options)];
  if (rows.length === 0) lines.push(`# ${whyEmpty(tick, filter?.text ?? "")}`);
  return `${lines.map((line) => line.trimEnd()).join("\n")}\n`;
}

function header(tick: Tick, sums: Aggregate, filter: string): string[] {
  const runtimes = listed(sums.runtimes).map(
    (runtime) => `${RUNTIME_LABELS[runtime]} ${percent(sums.runtimes[runtime], sums.samples)} %`,
  );
  const parts = [
    [
      "polytop",
      tick.host,
      new Date(tick.time).toISOString(),
      `${(tick.events ?? [{ name: tick.event }]).map(({ name }) => name).join(",")} ${tick.frequency} Hz`,
      cpusText(tick),
      `${unitRow(tick.unit).text(sums.samples)} in ${tick.intervalSeconds.toFixed(1)} s`,
    ],
    runtimes,
    ...(isWaiting(tick) ? [[statesText(tick)]] : []),
    [
      `${sharePercent(sums.outcomes.complete, sums.samples)} % complete`,
      ...guessedPart(sums),
      `${isWaiting(tick) ? unitRow(tick.unit).text(tick.missed) : tick.missed} missed`,
      `polytop ${tick.self.cpuPercent.toFixed(1)} % cpu ${bytes(tick.self.rssBytes)}`,
      ...(tick.pids.length > 0 ? [`pid ${tick.pids.join(",")}`] : []),
      ...(filter ? [`filter ${filter}`] : []),
    ],
  ];
  return parts.map((line) => `# ${line.map(cleanName).join("  ")}`);
}

/** How busy the CPUs were; of some processes alone, how much of the CPUs these took. */
function cpusText(tick: Tick): string {
  const cpus = `${tick.cpus} CPUs`;
  if (!areSamples(tick.unit)) return cpus;
  const share = `${Math.round(100 * busyShare(tick))} %`;
  return tick.pids.length > 0 ? `${share} of ${cpus}` : `${cpus} ${share} busy`;
}

/** Said where there is any: most machines have none. */
const guessedPart = ({ outcomes: { guessed }, samples }: Aggregate): string[] =>
  guessed > 0 ? [`${percent(guessed, samples)} % guessed`] : [];

/** The heading and the rows, in columns as wide as their longest text. */
function body(
  rows: readonly FunctionRow[],
  sums: Aggregate,
  tick: Tick,
  options: SinkOptions,
): string[] {
  const all = isWaiting(tick) ? WAITING_COLUMNS : FUNCTION_COLUMNS;
  const others = otherSums(tick, options);
  const columns = withEventColumns(
    all.filter(({ plain }) => plain),
    others.map(({ name, rows: byId }) => ({ name, rowOf: (id) => byId.get(id) })),
  );
  const ages = waitAges(tick, options);
  const context: FunctionContext = {
    samples: sums.samples,
    glyphs: ASCII_GLYPHS,
    moduleLine: true,
    seconds: sums.seconds,
    age: (row) => ages.get(row.function.id),
  };
  const cells = rows.map((row) => columns.map((column) => cleanName(column.value(row, context))));
  const widths = columns.map((column, i) => {
    const longest = cells.reduce((most, row) => Math.max(most, displayWidth(row[i] ?? "")), 0);
    return Math.max(column.width.min, column.heading.length, Math.min(longest, MAX_PADDING));
  });
  const line = (texts: readonly string[]): string =>
    texts.map((text, i) => pad(text, widths[i] ?? 0, columns[i]?.align ?? "left")).join(" ");
  const heading = line(columns.map((column) => column.heading));
  return [`# ${heading}`, ...cells.map((row) => `  ${line(row)}`)];
}

function pad(text: string, width: number, align: "left" | "right"): string {
  const gap = " ".repeat(Math.max(0, width - displayWidth(text)));
  return align === "left" ? text + gap : gap + text;
}

/** An empty table always says why it is empty. */
function whyEmpty(tick: Tick, filter: string): string {
  const time = `${tick.intervalSeconds.toFixed(1)} s`;
  if (tick.samples > 0) {
    const all = unitRow(tick.unit).text(tick.samples);
    return cleanName(`nothing matched ${filter} in ${time}; ${all} in all`);
  }
  const isTime = areSamples(tick.unit) || isWaiting(tick);
  if (!isTime) {
    const whose = tick.pids.length > 0 ? ` of pid ${tick.pids.join(",")}` : "";
    return cleanName(`no ${tick.event}${whose} in ${time}`);
  }
  return tick.pids.length > 0
    ? `no samples of pid ${tick.pids.join(",")} in ${time}: idle, or gone`
    : `no samples in ${time}: the CPUs are idle`;
}
