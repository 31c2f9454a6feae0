/** What `-e` takes. */
import { expect, test } from "vitest";
import { UsageError } from "../../../src/tick/errors.ts";
import { parseEvents } from "../../../src/tick/event-request.ts";

function refusal(text: string): string {
  try {
    parseEvents(text);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  throw new Error(`accepted: ${text}`);
}

const without = (text: string): object => {
  const [{ text: _text, ...rest } = { text: "" }] = parseEvents(text);
  return rest;
};

test.each([
  ["wall", { kind: "time", event: "wall" }],
  ["sched:sched_switch", { kind: "tracepoint", subsystem: "sched", event: "sched_switch" }],
  [
    "block:block_rq_issue/bytes/",
    { kind: "tracepoint", subsystem: "block", event: "block_rq_issue", field: "bytes" },
  ],
  ["uprobe:malloc", { kind: "function", file: undefined, pattern: "malloc", isReturn: false }],
  ["uretprobe:libc:malloc", { kind: "function", file: "libc", pattern: "malloc", isReturn: true }],
  [
    "uprobe:/bin/a:std::map<int,int>::find",
    { kind: "function", file: "/bin/a", pattern: "std::map<int,int>::find", isReturn: false },
  ],
  ["uprobe:ns::run", { kind: "function", file: undefined, pattern: "ns::run", isReturn: false }],
  ["uprobe:a.c:42", { kind: "line", file: undefined, source: "a.c", line: 42 }],
  ["uprobe:/bin/a:src/a.c:42", { kind: "line", file: "/bin/a", source: "src/a.c", line: 42 }],
  [
    "uprobe:libc:/^(m|c)alloc$/",
    { kind: "function", file: "libc", pattern: "/^(m|c)alloc$/", isReturn: false },
  ],
  ["kprobe:vfs_*", { kind: "kernel-function", pattern: "vfs_*", isReturn: false }],
  ["usdt:libc:setjmp", { kind: "usdt", file: undefined, provider: "libc", probe: "setjmp" }],
  [
    "usdt:/lib/libc.so.6:libc:setjmp",
    { kind: "usdt", file: "/lib/libc.so.6", provider: "libc", probe: "setjmp" },
  ],
])("%s", (text, expected) => {
  expect(without(text)).toEqual(expected);
});

test("counters have perf's names, aliases and modifiers", () => {
  expect(without("faults")).toMatchObject({ kind: "counter", row: { type: 1, config: 2 } });
  expect(without("cycles:ukP")).toMatchObject({ row: { type: 0, config: 0 }, modifiers: "ukP" });
  expect(without("LLC-load-misses")).toMatchObject({ row: { type: 3, config: 0x10002 } });
  expect(without("r01c2")).toMatchObject({ row: { type: 4, config: 0x1c2 } });
});

test("commas in brackets and in patterns separate nothing", () => {
  const texts = parseEvents("cpu,uprobe:f<a,b>::g,uprobe:c:/x,y/,cs").map(({ text }) => text);
  expect(texts).toEqual(["cpu", "uprobe:f<a,b>::g", "uprobe:c:/x,y/", "cs"]);
});

test.each([
  ["", "--event without a name is no event: use cpu, wait, wall"],
  ["bogus", "--event bogus is no event: use cpu, wait, wall"],
  ["cpu,,cs", "--event without a name is no event"],
  ["cs:P", "--event cs:P: only counters of the processor can be more precise"],
  ["cycles:x", "--event cycles:x: behind the colon stand"],
  ["uprobe:", "--event uprobe: needs a function: uprobe:FILE:FUNC"],
  ["uretprobe:a.c:42", "--event uretprobe:a.c:42: a line does not return, a function does"],
  ["kprobe", "--event kprobe needs a function: kprobe:FUNC"],
  ["usdt:x", "--event usdt:x is no probe: usdt:FILE:PROVIDER:NAME"],
])("%s is refused", (text, expected) => {
  expect(refusal(text)).toContain(expected);
});
