import type { Key } from "ink";
import { expect, test, vi } from "vitest";
import { back } from "../../../src/screen/keys/actions.ts";
import { BINDINGS } from "../../../src/screen/keys/bindings.ts";
import { bindingFor, footerBindings } from "../../../src/screen/keys/lookup.ts";
import { Session, type SessionTools } from "../../../src/screen/state/session.ts";
import { VIEWS } from "../../../src/screen/views/registry.ts";
import { InputFilter } from "../../../src/terminal/input-stream.ts";
import { keyNames } from "../../../src/terminal/keys.ts";
import type { SourceEvent, TickSource } from "../../../src/tick/source.ts";
import type { Tick } from "../../../src/tick/tick.ts";
import { TickGenerator } from "../../screen/generate.ts";

const NO_KEY = {} as Key;

/** A session over a sampler, or over what cannot be narrowed: a recording. */
function makeSession(tools: SessionTools = {}, isRecording = false) {
  const asked: unknown[] = [];
  let listener: ((event: SourceEvent) => void) | undefined;
  const source: TickSource = {
    counters: [],
    subscribe: (given) => {
      listener = given;
      return () => {};
    },
    ...(isRecording
      ? {}
      : {
          setPids: (pids: readonly number[]) => {
            asked.push(pids);
            return Promise.resolve(pids.includes(9) ? "no process 9" : undefined);
          },
        }),
    setInterval: (seconds) => asked.push(seconds),
  };
  const session = new Session(
    source,
    { filterText: "", pids: [], sort: "self", kernel: true, nativeFrames: false, delaySeconds: 1 },
    { now: () => 0, ...tools },
  );
  let quits = 0;
  session.terminal = { quit: () => quits++, suspend: () => {}, redraw: () => {} };
  session.start();
  const type = (text: string): void => {
    for (const name of keyNames(text, NO_KEY)) session.key(name);
  };
  const generator = new TickGenerator();
  const tick = (): void => listener?.({ tick: generator.next() });
  return {
    session,
    asked,
    type,
    tick,
    fail: () => listener?.({ error: "lost" }),
    quits: () => quits,
  };
}

test("keys that arrive together are taken one by one", () => {
  expect(keyNames("/ab\r", NO_KEY)).toEqual(["/", "a", "b", "enter"]);
  expect(keyNames("", { ...NO_KEY, upArrow: true })).toEqual(["up"]);
  expect(keyNames("l", { ...NO_KEY, ctrl: true })).toEqual(["ctrl-l"]);
  expect(keyNames("x", { ...NO_KEY, meta: true })).toEqual(["esc", "x"]);
  expect(keyNames("価\u007f", NO_KEY)).toEqual(["価", "backspace"]);
});

test("p in a recording filters all of it, whatever has been shown", () => {
  const { session, type, tick } = makeSession({}, true);
  tick();
  type("/malloc\rp4211,4218\r");
  expect(session.state.filterText).toBe("pid:4211,4218 malloc");
  type("p4211\r");
  expect(session.state.filterText).toBe("pid:4211 malloc");
  type("p\r");
  expect(session.state.filterText).toBe("malloc");
});

test("a disk that is full is said, and the screen goes on", async () => {
  const write = (): Promise<string> =>
    Promise.reject(new Error("cannot write a: the disk is full"));
  const { session, type, tick } = makeSession({ write });
  tick();
  type("w");
  await new Promise((resolve) => setImmediate(resolve));
  expect(session.state.message?.text).toBe("! cannot write a: the disk is full");
  tick();
  type("2");
  expect(session.state.view).toBe("processes");
});

test("a caret moves in a prompt, and keys change the text about it", () => {
  const { session, type } = makeSession();
  const press = (...names: string[]): void => {
    for (const name of names) session.key(name);
  };
  type("/one three");
  press(..."three".split("").map(() => "left"));
  type("two ");
  expect(session.state.prompt.text).toBe("one two three");
  press("ctrl-a");
  type("!");
  press("end", "backspace", "home", "right", "delete");
  expect(session.state.prompt).toMatchObject({ text: "!ne two thre", caret: 1 });
  press("ctrl-e", "left", "ctrl-w");
  expect(session.state.prompt).toMatchObject({ text: "!ne two e", caret: 8 });
  session.paste("价 x");
  press("left", "left", "left", "delete");
  expect(session.state.prompt.text).toBe("!ne two  xe");
  press("ctrl-u", "left", "backspace", "delete");
  expect(session.state.prompt).toMatchObject({ text: "", caret: 0 });
});

test("a name that one process has is its pid, whether it runs or sleeps", async () => {
  const processes = () => [
    { pid: 7, comm: "idler", command: "/usr/bin/idler" },
    { pid: 8, comm: "idle", command: "idle" },
  ];
  const { session, asked, type } = makeSession({ processes });
  type("pidl\r");
  expect(session.state.mode).toBe("pid");
  type("er\r");
  await Promise.resolve();
  expect(asked).toEqual([[7]]);
});

test("Shift-Tab goes back, F1 is the help, F10 ends", () => {
  const { session, quits } = makeSession();
  expect(keyNames("", { ...NO_KEY, tab: true, shift: true })).toEqual(["shift-tab"]);
  session.key("shift-tab");
  expect(session.state.view).toBe("metrics");
  session.key("shift-tab");
  expect(session.state.view).toBe("flame");
  const heard: unknown[] = [];
  const filter = new InputFilter((colour) => heard.push(colour));
  const keys = (...pieces: string[]): string[] =>
    pieces.flatMap((piece) => keyNames(filter.take(piece), NO_KEY));
  expect(keys("\u001bOP", "\u001b[[Aj\u001b[11~")).toEqual(["f1", "f1", "j", "f1"]);
  session.key("f1");
  expect(session.state.mode).toBe("help");
  session.key("esc");
  session.key("f10");
  expect(quits()).toBe(1);
  filter.expect();
  expect(keys("a\u001b", "]11;rgb:ffff/8080/", "0000\u001b\\b")).toEqual(["a", "b"]);
  expect(heard).toEqual([[1, 128 / 255, 0]]);
});

test("an open prompt owns every key", () => {
  const { session, type, quits } = makeSession();
  type("/quit z[1\r");
  expect(session.state.filterText).toBe("quit z[1");
  expect(session.state.mode).toBe("list");
  expect(quits()).toBe(0);
  type("q");
  expect(quits()).toBe(1);
});

test("a filter that is wrong stays in the prompt, and esc leaves what was in force", () => {
  const { session, type } = makeSession();
  type("/perl\r/ /(\r");
  expect(session.state.mode).toBe("filter");
  expect(session.state.prompt.error).toContain("regular expression");
  session.key("esc");
  expect(session.state).toMatchObject({ mode: "list", filterText: "perl" });
});

test("where a filter leaves nothing, the first esc clears it, whatever is selected out of sight", () => {
  const { session, type, tick } = makeSession();
  tick();
  let ids = ["1", "2", "3"];
  session.shape = () => ({ ids, page: 3 });
  type("jj/nothing\r");
  expect(session.state.selected.functions).toBe("2");
  session.key("esc");
  expect(session.state).toMatchObject({ selected: {}, filterText: "nothing" });
  type("j");
  ids = [];
  session.key("esc");
  expect(session.state.filterText).toBe("");
});

test("a process, threads of a name and a family become the filter", () => {
  const { session, type, tick } = makeSession();
  tick();
  session.shape = () => ({ ids: ["42", "42 pool worker"], page: 3 });
  const filters = ["2j\r", "2j\r", "2u"].map((keys) => {
    type(keys);
    expect(session.state.view).toBe("functions");
    return session.state.filterText;
  });
  expect(filters).toEqual(["pid:42", 'pid:42 thread:"pool worker"', "tree:42"]);
});

test("a row opens its page, a row of the page another one, and esc leads back through both", () => {
  const { session, type, tick } = makeSession();
  tick();
  let ids = ["3", "5"];
  session.shape = () => ({ ids, page: 3 });
  type("jj\r");
  expect(session.state).toMatchObject({ view: "function", opened: "5" });
  ids = ["caller 8", "callee 9"];
  type("jj\r");
  expect(session.state).toMatchObject({ view: "function", opened: "9" });
  session.key("esc");
  expect(session.state).toMatchObject({ view: "function", opened: "5" });
  session.key("esc");
  expect(session.state).toMatchObject({ view: "functions", selected: { functions: "5" } });
  ids = ["UnwindPerlAttempts"];
  type("5\r");
  expect(session.state).toMatchObject({ view: "counter", opened: "UnwindPerlAttempts" });
  ids = ["4211"];
  type("\r");
  expect(session.state).toMatchObject({ view: "functions", filterText: "pid:4211" });
  // The first one takes the selection back that the list had before.
  session.key("esc");
  session.key("esc");
  expect(session.state).toMatchObject({ view: "counter", opened: "UnwindPerlAttempts" });
});

test("the pid prompt asks the source and says what was wrong", async () => {
  const { session, asked, type } = makeSession();
  type("p42 43\r");
  await Promise.resolve();
  expect(asked).toEqual([[42, 43]]);
  await new Promise((resolve) => setTimeout(resolve, 0));
  expect(session.state.pids).toEqual([42, 43]);
  type("p9\r");
  await new Promise((resolve) => setTimeout(resolve, 0));
  expect(session.state.pids).toEqual([42, 43]);
  expect(session.state.message?.text).toBe("! no process 9");
  type("px");
  expect(session.state.prompt.error).toBe('"x" is no pid');
});

test("frozen: collecting goes on, the picture stays, [ and ] step through what was", () => {
  const { session, type, tick } = makeSession();
  tick();
  tick();
  const frozen = session.latest;
  type(" ");
  tick();
  expect(session.shown).toBe(frozen);
  expect(session.totals.seconds).toBe(3);
  type("[");
  expect(session.shown).not.toBe(frozen);
  type("]");
  expect(session.shown).toBe(frozen);
  type("]]]");
  expect(session.shown).toBe(session.latest);
  type("z");
  expect(session.state.frozen).toBeUndefined();
});

test("an error of the source is shown until there is a tick again", () => {
  const { session, tick, fail } = makeSession();
  fail();
  expect(session.error).toBe("lost");
  tick();
  expect(session.error).toBeUndefined();
});

test("c clears totals, + and - set the interval", () => {
  const { session, asked, type, tick } = makeSession();
  tick();
  type("c+--");
  expect(session.totals.samples).toBe(0);
  expect(asked).toEqual([2, 1, 0.5]);
});

test("no key means two things in one place, and esc never quits", () => {
  for (const view of VIEWS) {
    for (const frozen of [false, true]) {
      const live = BINDINGS.filter(
        (one) =>
          (!one.group || view.keys.includes(one.group)) &&
          (!one.when || (one.when === "frozen") === frozen),
      );
      const keys = live.flatMap((one) => one.keys);
      expect(new Set(keys).size).toBe(keys.length);
      expect(bindingFor("esc", view, frozen)?.run).toBe(back);
      expect(footerBindings(view, frozen).map((one) => one.label)).toEqual(
        expect.arrayContaining(["?", "q"]),
      );
    }
  }
});

test("every key of the contract that is built is in the table", () => {
  const keys = BINDINGS.flatMap((one) => one.keys);
  for (const key of "q?hp/sSrz []+-c12345jkgGKltmw") expect(keys).toContain(key);
  for (const key of ["tab", "enter", "esc", "backspace", "ctrl-l", "ctrl-z", "pageup", "end"]) {
    expect(keys).toContain(key);
  }
});

/** A tick of these events, each with a stack of its own weight. */
function tickOf(generator: TickGenerator, ...names: readonly string[]): Tick {
  const { events: _events, others: _others, ...tick } = generator.next();
  const events = names.map((name) => ({ name, unit: "events", period: 1, samples: 7, missed: 0 }));
  const others = names.slice(1).map(() => tick.counts);
  return { ...tick, event: names[0] ?? "", unit: "events", events, others };
}

test("events are chosen in a prompt, by a key, and looked at one after the other", async () => {
  const chosen: string[] = [];
  const { session, type } = makeSession({
    events: {
      choose: async (text) => {
        chosen.push(text);
        return text.includes("major") ? { error: "no\nhere" } : {};
      },
      complete: (typed) => ["page-faults", "cpu"].filter((one) => one.startsWith(typed)),
    },
  });
  const generator = new TickGenerator();
  session.receive({ tick: tickOf(generator, "cpu") });
  type("Ecpu,pa\t");
  expect(session.state.prompt.text).toBe("cpu,page-faults");
  type("\u0015wait\r");
  expect(chosen).toEqual([]);
  expect(session.state.message?.text).toContain("have a key of their own");
  type("Ecpu,,\r");
  expect(session.state.prompt.error).toContain("is no event");
  type("\u0015cpu,page-faults\r");
  await vi.waitFor(() => expect(session.state.message?.text).toBe("counting cpu,page-faults"));
  expect(chosen).toEqual(["cpu,page-faults"]);
  session.receive({ tick: tickOf(generator, "cpu", "page-faults") });
  expect(session.latest).toMatchObject({ event: "cpu" });
  type("v");
  expect(session.latest?.events?.map(({ name }) => name)).toEqual(["page-faults", "cpu"]);
  expect(session.selectors.others(session.latest as Tick, session.state)).toMatchObject([
    { name: "cpu" },
  ]);
  // The refresh before had none of it.
  expect(session.history.at(0)).toMatchObject({ event: "page-faults", samples: 0 });
  type("v");
  expect(session.latest).toMatchObject({ event: "cpu" });
  type("x");
  await vi.waitFor(() => expect(session.state.message?.text).toBe("counting page-faults"));
  session.receive({ tick: tickOf(generator, "page-faults") });
  type("v");
  expect(session.state.message?.text).toContain("one event is counted");
  type("Emajor-faults\r");
  await vi.waitFor(() => expect(session.state.message?.text).toBe("! no; here"));
  expect(session.latest).toMatchObject({ event: "page-faults" });
  // Before the next refresh a key goes on from the one before it.
  const { length } = chosen;
  type("xx");
  await vi.waitFor(() => expect(chosen).toHaveLength(length + 2));
  expect(new Set(["page-faults", ...chosen.slice(length)]).size).toBe(3);
});

test("a recording has the events that it was made of", () => {
  const { session, type } = makeSession({}, true);
  session.receive({ tick: tickOf(new TickGenerator(), "cpu", "page-faults") });
  type("x");
  expect(session.state.message?.text).toContain("a recording has the events");
  type("v");
  expect(session.latest).toMatchObject({ event: "page-faults" });
});
