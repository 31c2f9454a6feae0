/** A list starts at its top and stands still: a key takes the row that was read. */
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { Composer } from "../../../src/screen/composer.ts";
import { Bodies } from "../../../src/screen/frame.ts";
import { Session } from "../../../src/screen/state/session.ts";
import { makeTheme, NO_COLOURS } from "../../../src/screen/theme.ts";
import { openTick } from "../../support/screen.ts";
import { makeTick, TickMaker, task } from "../../support/ticks.ts";

type Counts = Readonly<Record<string, number>>;

/** A screen of so many rows; `show` brings a refresh in which functions have so many samples, each of its own process. */
function screenOf(rows = 24) {
  let now = 0;
  let time = 0;
  const session = new Session(
    {
      counters: [],
      subscribe: () => () => {},
      setPids: () => Promise.resolve(undefined),
      setInterval: () => {},
    },
    { filterText: "", pids: [], sort: "self", kernel: true, nativeFrames: false, delaySeconds: 1 },
    { now: () => now },
  );
  const composer = new Composer(session, {
    bodies: new Bodies(),
    theme: makeTheme(NO_COLOURS, false),
    host: "web-3",
    alive: () => true,
    isReplay: false,
  });
  const lines = (): string[] =>
    composer.frame({ columns: 160, rows }).map(stripVTControlCharacters);
  return {
    session,
    show: (counts: Counts, more = {}): void => {
      time += 1000;
      // What the last key held is let go.
      now += 5000;
      session.receive({ tick: openTick(counts, { time, intervalSeconds: 1, ...more }) });
      lines();
    },
    type: (keys: string): void => {
      for (const key of keys) session.key(key === "\r" ? "enter" : key);
      lines();
    },
    lines,
    /** The names of the rows, and of the selected one. */
    names: (): string[] => lines().flatMap((line) => / (f\d+) /.exec(line)?.[1] ?? []),
    selected: (): string | undefined =>
      / (f\d+) /.exec(lines().find((line) => line.startsWith(">")) ?? "")?.[1],
  };
}

/** Functions f0, f1, … with ever fewer samples. */
const many = (count: number): Counts =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, 400 - i]));

test("a row is selected from the first refresh on, and a key takes the one that was read", () => {
  const { session, show, type, selected } = screenOf();
  show({ f1: 400, f2: 390, f3: 10 });
  expect(selected()).toBe("f1");
  // Two that have about as much change places: what was read stays selected.
  show({ f2: 400, f1: 380, f3: 10 });
  expect(selected()).toBe("f1");
  type("\r");
  expect(session.state.opened).toBe(session.state.selected.functions);
  session.key("esc");
  expect(selected()).toBe("f1");
});

test("a row that nobody chose gives way to what is far ahead of it, one that was chosen does not", () => {
  const { show, type, selected } = screenOf();
  show({ f1: 400, f2: 390 });
  show({ f2: 4000, f1: 390 });
  expect(selected()).toBe("f2");
  type("j");
  expect(selected()).toBe("f1");
  show({ f2: 4000, f3: 3000, f1: 3 });
  expect(selected()).toBe("f1");
});

test("the subtree that u takes is that of the row that was read", () => {
  const { session, show, type, lines } = screenOf();
  show({ f1: 400, f2: 390 });
  type("2");
  const pid = /^>.* (\d+) +0 /.exec(lines().find((line) => line.startsWith(">")) ?? "")?.[1];
  show({ f2: 400, f1: 390 });
  type("u");
  expect(session.state.filterText).toBe(`tree:${pid}`);
});

test.each(["a", "K", "r", "s", "l", "e", "/f\r"])(
  "after %j the window is at the top of another list",
  (keys) => {
    const { show, type, session, lines, names } = screenOf();
    show(many(100));
    type("G");
    expect(names()).toContain("f99");
    type(keys);
    show(many(100));
    expect(session.state.offset.functions ?? 0).toBe(0);
    const first = lines().find((line) => / f\d+ /.test(line));
    if (first !== undefined) expect(first.startsWith(">")).toBe(true);
  },
);

test("where another list has the chosen row in sight it stays chosen", () => {
  const { show, type, selected } = screenOf();
  show(many(10));
  type("jjja");
  show(many(10));
  expect(selected()).toBe("f3");
});

test("a chosen row that goes out of sight leaves the choice at its place", () => {
  const { show, type, selected, names } = screenOf();
  show(many(100));
  type("jj");
  show({ ...many(100), f2: 1 });
  expect(selected()).toBe(names()[2]);
  expect(names()[0]).toBe("f0");
});

test("shares are of as many refreshes as hold 300 samples", () => {
  const { show, lines } = screenOf();
  show({ f1: 100 });
  show({ f1: 50, f2: 50 });
  show({ f2: 100 });
  const share = (name: string): string =>
    /^\S? *([\d.]+)/.exec(lines().find((line) => line.includes(` ${name} `)) ?? "")?.[1] ?? "";
  expect([share("f1"), share("f2")]).toEqual(["50.0", "50.0"]);
  expect(lines().join("\n")).toContain("shares of 3 s");
  show({ f2: 300 });
  expect(share("f2")).toBe("100");
  expect(lines().join("\n")).not.toContain("shares of");
});

test("other processes or another event than now have no part in the shares", () => {
  const { show, names } = screenOf();
  show({ f1: 100 });
  show({ f2: 100 }, { pids: [7] });
  expect(names()).toEqual(["f2"]);
});

test("after m a row that was met in the last seconds keeps its process", () => {
  const { show, type, lines } = screenOf();
  show({ f1: 400, f2: 400 });
  type("m");
  show({ f1: 400 });
  expect(lines().find((line) => / f2 /.test(line))).toMatch(/ 102 f2/);
});

test("notices are read in full on their page, whatever the width, and kept for the end", () => {
  const { session, show, type, lines } = screenOf();
  const long = `${"perl 5.99.0 is not a version that polytop was made for; ".repeat(6)}the end`;
  show({ f1: 400 }, { notices: ["another one", long] });
  expect(lines().join("\n")).not.toContain("the end");
  expect(lines().at(-1)).toContain("! notices");
  type("!");
  const text = lines().join(" ").replace(/\s+/g, " ");
  expect(text).toContain("! another one");
  expect(text).toContain(long);
  session.key("esc");
  show({ f1: 400 });
  expect(lines().at(-1)).not.toContain("! notices");
  expect([...session.told]).toEqual(["another one", long]);
});

test("a long name is wrapped on its page, and its process is told by what it runs", () => {
  const { session, type, lines } = screenOf();
  const name = `ns::${"very_long_part::".repeat(30)}last`;
  const maker = new TickMaker();
  const facts = { user: "", container: "", unit: "", group: "", command: "perl /srv/ledger.pl" };
  session.receive({
    tick: makeTick([
      { stack: maker.stack([`n:${name}@app`]), task: task(42, "perl", { facts }), count: 400 },
    ]),
  });
  expect(lines().join("\n")).toContain("42 ledger.pl");
  type("\r");
  expect(lines().join("").replace(/\s/g, "")).toContain(name);
  expect(lines().join("\n")).toContain("1 process: 100 % 42 perl /srv/ledger.pl");
});
