/** The frame of `npm run accuracy` and `npm run bench`: sections by name, and the table that they print. */
import { loadavg } from "node:os";
import { argv } from "node:process";

/** One line of the table. */
export interface Row {
  readonly what: string;
  /** What must hold, as the reader should see it. */
  readonly bar: string;
  readonly figure: string;
  /** How many samples it rests on. */
  readonly samples?: number;
  /** Left out where there is no bar. */
  readonly ok?: boolean;
}

/** A part of the run that can be asked for by name. */
export interface Section {
  readonly name: string;
  readonly about: string;
  /** Runs only when it is named. */
  readonly onlyByName?: boolean;
  run(): Promise<readonly Row[]>;
}

/** Something that this machine lacks: the section is shown as skipped. */
export class Lacking extends Error {}

const HEADINGS = ["", "bar", "measured", "samples", "load", "holds"];

/** Runs the sections that the command line names, or all; resolves to whether every bar held. */
export async function measure(sections: readonly Section[]): Promise<boolean> {
  const names = argv.slice(2);
  const unknown = names.filter((name) => !sections.some((it) => it.name === name));
  if (unknown.length > 0 || names.includes("--help")) {
    for (const { name, about } of sections) console.log(`${name.padEnd(12)} ${about}`);
    return unknown.length === 0;
  }
  const wanted = sections.filter(({ name, onlyByName }) =>
    names.length > 0 ? names.includes(name) : !onlyByName,
  );
  print(HEADINGS);
  let held = true;
  for (const section of wanted) {
    for (const row of await rowsOf(section)) {
      if (row.ok === false) held = false;
      const { what, bar, figure, samples, ok } = row;
      const count = samples === undefined ? "" : String(samples);
      const verdict = ok === undefined ? "" : ok ? "yes" : "NO";
      print([what, bar, figure, count, loadavg()[0]?.toFixed(1) ?? "", verdict]);
    }
  }
  return held;
}

async function rowsOf(section: Section): Promise<readonly Row[]> {
  try {
    return await section.run();
  } catch (error) {
    const figure = error instanceof Error ? error.message : String(error);
    if (error instanceof Lacking)
      return [{ what: section.name, bar: "", figure: `skipped: ${figure}` }];
    if (process.env.POLYTOP_DEBUG) console.error(error);
    return [{ what: section.name, bar: "", figure: `failed: ${figure}`, ok: false }];
  }
}

const WIDTHS = [74, 18, 36, 8, 5];

/** Prints a line of a table. */
export function printCells(cells: readonly string[], widths: readonly number[]): void {
  const padded = cells.map((cell, at) => cell.padEnd(widths[at] ?? 0));
  console.log(padded.join(" ").trimEnd());
}

const print = (cells: readonly string[]): void => printCells(cells, WIDTHS);

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

export const percent = (part: number, whole: number, digits = 2): string =>
  whole > 0 ? `${((100 * part) / whole).toFixed(digits)} %` : "nothing sampled";

/** The part of the whole, 0 where there is nothing. */
export const ratio = (part: number, whole: number): number => (whole > 0 ? part / whole : 0);
