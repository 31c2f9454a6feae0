/** What is offered while an event is typed. */
import { createRequire } from "node:module";
import { expect, test } from "vitest";
import type { Addon } from "../../../src/addon/binding.ts";
import { EventCompleter } from "../../../src/events/complete.ts";
import { root } from "../../support/polytop.ts";
import { workload } from "../../support/workloads.ts";

const addon: Addon = createRequire(import.meta.url)(`${root}dist/polytop.node`);
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
