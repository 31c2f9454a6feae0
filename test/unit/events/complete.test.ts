/** What is offered while an event is typed. */
import { expect, test } from "vitest";
import { EventCompleter } from "../../../src/events/complete.ts";
import { builtAddon } from "../../support/addon.ts";
import { workload } from "../../support/workloads.ts";

const addon = builtAddon();
const program = workload("hits.c");
const completer = new EventCompleter({ addon, program: [program] });

test.each([
  ["page", ["page-faults"]],
  ["upr", ["uprobe:"]],
  ["uprobe:hi", ["uprobe:hits:"]],
  ["uprobe:hits:of", ["uprobe:hits:often"]],
  ["uprobe:libc:mallo", ["uprobe:libc:malloc"]],
  [`uprobe:${program.slice(0, -2)}`, [`uprobe:${program}:`]],
  ["usdt:nosuch:a", []],
])("%s", (typed, expected) => {
  expect(completer.complete(typed, [])).toEqual(expect.arrayContaining(expected));
});

test("a process has its own files", () => {
  expect(completer.complete("uprobe:node:uv_run", [process.pid])).toContain("uprobe:node:uv_run");
});
