/** What the screen tells of .NET methods: names of the source, bodies, why there is no name. */
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { stub, unnamed } from "../../../src/runtimes/dotnet/unnamed.ts";
import { Bodies, composeFrame } from "../../../src/screen/frame.ts";
import { Session } from "../../../src/screen/state/session.ts";
import { makeTheme, NO_COLOURS } from "../../../src/screen/theme.ts";
import type { Frame } from "../../../src/tick/store.ts";
import { COUNTERS, makeTick, type StackCount, task } from "../../support/ticks.ts";

const RAW = "Shop.Worker+<RunAsync>d__3.MoveNext";

/** A session over one refresh with these innermost frames below one caller, and what its window shows. */
function screenOf(counts: readonly (readonly [leaf: Frame, count: number])[]) {
  const caller: Frame = {
    function: { id: 99, runtime: "dotnet", name: "Shop.Program.<Main>$", module: "Shop" },
  };
  const list = counts.map(
    ([leaf, count]): StackCount => ({
      stack: { frames: [leaf, caller], outcome: "complete" },
      task: task(1, "shop"),
      count,
    }),
  );
  const session = new Session(
    {
      counters: COUNTERS,
      subscribe: (listener) => {
        listener({ tick: makeTick(list) });
        return () => {};
      },
      setPids: () => Promise.resolve(undefined),
      setInterval: () => {},
    },
    { filterText: "", pids: [], sort: "self", kernel: true, nativeFrames: false, delaySeconds: 1 },
    { now: () => 0 },
  );
  session.start();
  const tools = {
    bodies: new Bodies(),
    theme: makeTheme(NO_COLOURS, false),
    host: "web-3",
    alive: () => true,
    isReplay: false,
  };
  const text = (): string => {
    const { body } = composeFrame(session, { columns: 110, rows: 30 }, tools);
    return stripVTControlCharacters(body.join("\n"));
  };
  session.shape = () => composeFrame(session, { columns: 110, rows: 30 }, tools).shape;
  return { session, text };
}

const leaf = (body?: string): Frame => ({
  function: { id: 1, runtime: "dotnet", name: RAW, module: "Shop" },
  ...(body === undefined ? {} : { body }),
});

test("o names what the compiler made after its source, and back", () => {
  const { session, text } = screenOf([[leaf(), 3]]);
  expect(text()).toContain(RAW);
  expect(text()).toContain("Shop.Program.<Main>$");
  session.key("o");
  expect(text()).toContain("Shop.Worker.RunAsync");
  expect(text()).toContain("Shop.Program.Main");
  expect(text()).not.toContain("<");
  session.key("enter");
  expect(text()).toMatch(/^ Shop\.Worker\.RunAsync\n/);
  expect(text()).toContain("100 % Shop.Program.Main");
  session.key("o");
  expect(text()).toContain(RAW);
});

test("the detail tells how the code was made, and for what", () => {
  const { session, text } = screenOf([
    [leaf("tier 1"), 6],
    [leaf("tier 0"), 1],
    [leaf(), 1],
  ]);
  session.key("enter");
  expect(text()).toContain("code: 75.0 % tier 1   12.5 % tier 0\n");
});

test("the detail tells why a method has no name, and what a stub is", () => {
  for (const named of [unnamed("its memory could not be read"), stub(5)]) {
    const { session, text } = screenOf([[{ function: { id: 1, ...named } }, 1]]);
    session.key("enter");
    expect(text()).toContain(`no name: ${named.whyUnnamed?.slice(0, 40)}`);
    expect(text()).not.toContain("code:");
  }
  expect(unnamed("something else").whyUnnamed).toBe("something else");
  expect(stub(77)).toMatchObject({ name: "[stub of kind 77]" });
});
