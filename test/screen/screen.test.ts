import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { clears, openTerminals } from "./start.ts";
import { TestTerminal } from "./terminal.ts";

const terminals = openTerminals({ intervalMs: 200 });
const { start, keep } = terminals;

const ESCAPE = "\u001b";

/** SGR codes of colours, foreground and background. */
const COLOURS = new RegExp(`${ESCAPE}\\[(?:\\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;\\d+)*m`);

test.each([
  [40, 10],
  [80, 24],
  [120, 40],
  [200, 60],
  [300, 100],
])("at %i by %i everything is in its place", async (columns, rows) => {
  const terminal = start(columns, rows, { ticks: 1 });
  await terminal.shows("SELF%");
  // A large screen comes in several reads.
  await new Promise((resolve) => setTimeout(resolve, 200));
  const lines = await terminal.lines();
  expect(terminal.buffer).toBe("alternate");
  expect(lines[0]).toContain("busy");
  expect(lines.at(-1)).toMatch(/^ \? help.*q quit$/);
  const heading = lines.findIndex((line) => line.includes("SELF%"));
  expect(heading).toBe(rows < 14 ? 2 : 3);
  // The list fills the window down to the footer, and its first row is the hottest.
  expect(lines[heading + 1]).toContain("Ledger::Post::entry");
  expect(lines.slice(heading + 1, -1).every((line) => /^[▶ ] +\d+\.\d/.test(line))).toBe(true);
  expect(lines.join("\n")).toContain("% complete");
  expect(clears(terminal.output)).toBe(0);
});

test.each([
  [10, 5],
  [20, 6],
  [1, 1],
])("a window of %i by %i is no reason to fall over", async (columns, rows) => {
  const terminal = start(columns, rows);
  // One cell shows nothing: there is nothing to wait for.
  await new Promise((resolve) => setTimeout(resolve, 600));
  for (const key of ["2", "5", "?", "j", "\u001b", "/x\r", "\r"]) terminal.type(key);
  terminal.resize(80, 24);
  await terminal.shows("% complete");
  terminal.type("\u001b");
  terminal.type("q");
  expect((await terminal.exited).exitCode).toBe(0);
});

test("keys in one burst are a filter, and q in a prompt does not quit", async () => {
  const terminal = start(80, 24);
  await terminal.shows("SELF%");
  terminal.type("/lang:perl qq\r");
  await terminal.shows("filter lang:perl qq");
  await terminal.shows("Nothing matches");
  terminal.type("\u001b");
  await terminal.until((text) => !text.includes("Nothing matches"), "the list again");
  terminal.type("/lang:foo");
  await terminal.shows("lang: at 1 is one of");
  terminal.type("\u001b");
  await terminal.until((text) => !text.includes("lang:foo"), "the prompt gone");
  terminal.type("q");
  expect((await terminal.exited).exitCode).toBe(0);
});

test("keys held down: as many rows as keys, at the pace of a keyboard and in one burst", async () => {
  const terminal = start(80, 24, { ticks: 1 });
  await terminal.shows("SELF%");
  const list = (await terminal.shows("▶")).split("\n").slice(4);
  const selects = (index: number): Promise<string> =>
    terminal.until((text) => text.includes(`▶${list[index]?.slice(1)}`), `row ${index}`);
  for (let i = 0; i < 12; i++) {
    terminal.type("j");
    await new Promise((resolve) => setTimeout(resolve, 33));
  }
  await selects(12);
  terminal.type("j".repeat(200) + "k".repeat(209));
  await selects(3);
  terminal.type("\u001b[B".repeat(200) + "\u001b[A".repeat(202));
  await selects(1);
});

test("views, help, detail and back", async () => {
  const terminal = start(100, 30);
  await terminal.shows("SELF%");
  terminal.type("2");
  await terminal.shows("COMMAND");
  terminal.type("5");
  await terminal.shows("UnwindPerlAttempts");
  await terminal.shows("STACKS/S");
  terminal.type("\t");
  await terminal.shows("SELF%");
  terminal.type("?");
  await terminal.shows("this help");
  terminal.type("\u001b");
  await terminal.shows("SELF%");
  terminal.type("jj\r");
  await terminal.shows("CALLERS");
  terminal.type("\u001b");
  await terminal.shows("SELF%");
  terminal.type("p4211\r");
  await terminal.shows("pid 4211:");
  terminal.type("p99999999\r");
  await terminal.shows("! no process 99999999");
});

test("a row stays selected while ranks move, and a frozen picture stays", async () => {
  const terminal = start(80, 24);
  await terminal.shows("SELF%");
  terminal.type("jj");
  const text = await terminal.until(
    (screen) => screen.split("\n")[6]?.startsWith("▶") === true,
    "a selected row",
  );
  const name = /▶ +\S+ +\S+ (\S+ +\S+)/.exec(text)?.[1] ?? "?";
  await new Promise((resolve) => setTimeout(resolve, 600));
  expect((await terminal.text()).split("\n").find((line) => line.startsWith("▶"))).toContain(name);
  terminal.type(" ");
  await terminal.until((screen) => /frozen \S+, 0:0\d ago/.test(screen), "a frozen picture");
  const rows = (screen: string): string => screen.split("\n").slice(3, -1).join("\n");
  const frozen = rows(await terminal.text());
  await terminal.shows(", 0:03 ago");
  expect(rows(await terminal.text())).toBe(frozen);
  terminal.type("[");
  await terminal.until((screen) => rows(screen) !== frozen, "another refresh");
});

test("a storm of resizes leaves one whole screen and no full clears but its own", async () => {
  const terminal = start(120, 40);
  await terminal.shows("SELF%");
  const before = clears(terminal.output);
  for (const [columns, rows] of [
    [80, 24],
    [40, 10],
    [200, 60],
    [100, 30],
    [60, 20],
    [120, 40],
  ] as const) {
    terminal.resize(columns, rows);
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
  await new Promise((resolve) => setTimeout(resolve, 700));
  const lines = await terminal.lines();
  expect(lines.filter((line) => line.includes("SELF%"))).toHaveLength(1);
  expect(lines.at(-1)).toContain("q quit");
  const after = clears(terminal.output);
  // Ink clears when a window gets smaller; refreshes never do.
  expect(after - before).toBeLessThanOrEqual(6);
  await new Promise((resolve) => setTimeout(resolve, 600));
  expect(clears(terminal.output)).toBe(after);
});

test.each(["SIGTERM", "SIGHUP", "SIGINT"])("%s gives the terminal back", async (signal) => {
  const terminal = start(80, 24);
  await terminal.shows("SELF%");
  terminal.kill(signal);
  expect((await terminal.exited).exitCode).toBe(0);
  expect(await terminal.text()).not.toContain("SELF%");
  expect(terminal.buffer).toBe("normal");
  expect(terminal.output).toContain("\u001b[?25h");
});

test("it ends with its terminal", async () => {
  // `script` is the other end of a terminal of its own: killed, it leaves the program without one.
  const options = { columns: 80, rows: 24, env: { POLYTOP_FIXTURE: '{"intervalMs":200}' } };
  const program = `exec ${process.execPath} ${terminals.fixture}`;
  const outer = keep(new TestTerminal("/usr/bin/script", ["-qc", program, "/dev/null"], options));
  await outer.shows("SELF%");
  const pid = readFileSync(`/proc/${outer.pid}/task/${outer.pid}/children`, "latin1").trim();
  expect(existsSync(`/proc/${pid}/exe`)).toBe(true);
  outer.kill("SIGKILL");
  await vi.waitFor(() => expect(existsSync(`/proc/${pid}/exe`)).toBe(false), { timeout: 8000 });
});

test("a pasted text is no keys: a prompt takes it as one line, and a list leaves it", async () => {
  const terminal = start(100, 24);
  await terminal.shows("SELF%");
  const paste = (text: string): void => terminal.type(`\u001b[200~${text}\u001b[201~`);
  paste("curl -s https://example.org/q\rq");
  await terminal.shows("a pasted text goes into an open prompt");
  terminal.type("/");
  paste("one\r\ntwo\tthree");
  await terminal.shows("one two three");
  expect(await terminal.text()).toContain("⏎ keep");
});

test("q and ^C leave a line of summary", async () => {
  for (const key of ["q", "\u0003"]) {
    const terminal = start(80, 24);
    await terminal.shows("SELF%");
    terminal.type(key);
    expect((await terminal.exited).exitCode).toBe(0);
    expect(await terminal.text()).toMatch(/polytop: [\d,]+ samples in \d+ s, [\d.]+ % complete/);
    // A terminal without a second screen shows the summary in place of the picture, not within it.
    const last = terminal.output.lastIndexOf("\u001b[?1049l");
    expect(terminal.output.slice(0, last).endsWith("\u001b[H\u001b[J")).toBe(true);
  }
});

test("NO_COLOR: no colours, and still everything is said", async () => {
  const colourful = start(100, 30, { ticks: 1 });
  await colourful.shows("SELF%");
  expect(colourful.output).toMatch(COLOURS);
  const terminal = start(100, 30, { color: false, env: { NO_COLOR: "1" } });
  await terminal.shows("SELF%");
  terminal.type("j25?");
  await terminal.shows("this help");
  expect(terminal.output).not.toMatch(COLOURS);
});

test("without UTF-8 everything is ASCII", async () => {
  const terminal = start(100, 40, { unicode: false });
  await terminal.shows("SELF%");
  for (const keys of ["j", "\r", "\u001b", "2", "5", "?", "\u001b", "/x", "\u001b"]) {
    terminal.type(keys);
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
  expect(terminal.output).toMatch(/^\p{ASCII}*$/u);
});

test("idle CPUs are said to be idle", async () => {
  const terminal = start(80, 24, { idle: true });
  await terminal.shows("The CPUs are idle: 0 samples");
});

test("^L draws everything again", async () => {
  const terminal = start(80, 24, { ticks: 1 });
  await terminal.shows("SELF%");
  const before = terminal.output.length;
  terminal.type("\u000c");
  await terminal.until(() => terminal.output.slice(before).includes("SELF%"), "a redraw");
  await terminal.shows("q quit");
});

test("^Z hands the terminal to the shell, fg takes it back", async () => {
  const terminal = keep(
    new TestTerminal("/bin/sh", ["-i"], {
      columns: 80,
      rows: 24,
      env: { POLYTOP_FIXTURE: '{"intervalMs":200}', PS1: "shell> ", ENV: "" },
    }),
  );
  await terminal.shows("shell>");
  terminal.type(`${process.execPath} ${terminals.fixture}\r`);
  await terminal.shows("SELF%");
  terminal.type("\u001a");
  await terminal.until((text) => text.trimEnd().endsWith("shell>"), "the shell");
  expect(terminal.buffer).toBe("normal");
  const tty = execFileSync("ps", ["-o", "tty=", "-p", String(terminal.pid)], { encoding: "utf8" });
  expect(execFileSync("stty", ["-F", `/dev/${tty.trim()}`, "-a"], { encoding: "utf8" })).toMatch(
    / icanon/,
  );
  terminal.type("fg\r");
  await terminal.shows("SELF%");
  expect(terminal.buffer).toBe("alternate");
  // Who stops it from outside leaves the terminal to the shell as it is.
  const program = execFileSync("pgrep", ["-f", terminals.fixture, "-P", String(terminal.pid)]);
  process.kill(Number(program), "SIGSTOP");
  await terminal.shows("Stopped");
  // The terminal is raw, and this shell leaves it so.
  terminal.type("fg\n");
  await terminal.until((text) => !text.includes("Stopped") && text.includes("SELF%"), "a picture");
  terminal.type("?");
  await terminal.shows("this help");
  terminal.type("qq");
  await terminal.shows("polytop:");
});

test("a refresh at 120 by 40 sends at most 5 kB", async () => {
  const terminal = start(120, 40, { intervalMs: 250 });
  await terminal.shows("SELF%");
  await new Promise((resolve) => setTimeout(resolve, 500));
  const before = terminal.output.length;
  await new Promise((resolve) => setTimeout(resolve, 2500));
  const bytes = Buffer.byteLength(terminal.output.slice(before));
  expect(bytes / 10).toBeLessThan(5500);
});

test("the short cut through Ink draws what Ink draws", async () => {
  const screens = await Promise.all(
    [false, true].map(async (plainInk) => {
      const terminal = start(110, 32, { ticks: 1, plainInk });
      await terminal.shows("SELF%");
      terminal.type("jj");
      await terminal.until((text) => text.split("\n")[6]?.startsWith("▶") === true, "row 3");
      return terminal.lines();
    }),
  );
  expect(screens[0]).toEqual(screens[1]);
});
