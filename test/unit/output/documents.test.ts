/** What the documents say is what there is. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { foldedSink } from "../../../src/output/folded.ts";
import { jsonSink } from "../../../src/output/json.ts";
import { SNAPSHOT } from "../../../src/output/snapshot-schema.ts";
import { BINDINGS } from "../../../src/screen/keys/bindings.ts";
import { mismatches } from "../../support/json-schema.ts";
import { root } from "../../support/polytop.ts";
import { COUNTERS, makeTick, TickMaker, task } from "../../support/ticks.ts";
import { referencePage, schemaFile } from "../../tools/docs/page.ts";

const read = (path: string): string => readFileSync(`${root}${path}`, "utf8");

const OPTIONS = {
  counters: COUNTERS,
  rows: 0,
  kernel: true,
  nativeFrames: false,
  sort: "self",
  version: "0",
  kernelRelease: "6.1",
  stacks: 2,
} as const;

const FACTS = { user: "u", container: "c", unit: "x", group: "g", command: "perl /srv/a.pl" };

test("a line of JSON is as its schema says", () => {
  expect(read("docs/snapshot.schema.json")).toBe(schemaFile());
  const maker = new TickMaker();
  const counts = [
    {
      stack: maker.stack(["p:f@a.pl:3", "p:g@a.pl"]),
      task: task(7, "perl", { facts: FACTS }),
      count: 3,
    },
    { stack: maker.stack(["k:h@kernel"], "broken"), task: task(8, "x"), count: 1 },
  ];
  for (const unit of ["samples", "events"]) {
    const line = jsonSink(OPTIONS).tick(makeTick(counts, { unit, notices: ["a notice"] }));
    const value: unknown = JSON.parse(line);
    expect(mismatches(value, SNAPSHOT)).toEqual([]);
    expect(mismatches({ ...(value as object), later: 1, cpus: "2" }, SNAPSHOT)).toEqual([
      "$.cpus: no count",
      "$: has later",
    ]);
  }
});

test("a name that ends in a number is no count for flamegraph.pl", () => {
  const maker = new TickMaker();
  const sink = foldedSink(OPTIONS);
  sink.tick(
    makeTick([{ stack: maker.stack(["p:trailing 17"]), task: task(7, "perl 5"), count: 40 }]),
  );
  expect(sink.end()).toBe("perl_5;trailing_17 40\n");
});

test("every option of the help is in README, every key in the reference", () => {
  const readme = read("README.md");
  const help = read("src/options/option-table.ts");
  const options = [...help.matchAll(/^ {2}(\w+): \{/gm)].map(([, name = ""]) => name);
  expect(options.length).toBeGreaterThan(20);
  const rows = readme.split("\n").filter((line) => line.startsWith("|"));
  for (const name of options) {
    const word = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    expect(rows.join("\n"), name).toMatch(new RegExp(`\`[^\`]*--(no-)?${word}\\b`));
  }
  const page = referencePage();
  for (const { label } of BINDINGS) expect(page).toContain(`\`${label}\``);
  for (const key of ["h", "z", "=", "backspace", "^U", "^D", "^B", "^F", "f1", "f10"]) {
    expect(page).toContain(`\`${key}\``);
  }
  for (const name of new Set(read("release/text/manual.ts").match(/(POLYTOP|XDG|NO)_[A-Z_]+/g))) {
    expect(rows.join("\n")).toContain(`\`${name}\``);
  }
  expect(page.indexOf("## Counters")).toBeGreaterThan(page.indexOf("## Keys"));
});
