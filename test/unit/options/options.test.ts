/** The command line: what is read, what is refused, and in which words. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Options, RunOptions } from "../../../src/options/asked.ts";
import { helpText, versionText } from "../../../src/options/option-table.ts";
import { parseOptions } from "../../../src/options/options.ts";
import { UsageError } from "../../../src/tick/errors.ts";

/** Options as they are typed, words apart. */
const parse = (line: string): Options => parseOptions(line.split(" ").filter(Boolean));
const run = (line: string): RunOptions => parse(line) as RunOptions;

function refusal(line: string): string {
  try {
    parse(line);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  throw new Error(`accepted: ${line}`);
}

describe("what is read", () => {
  test("nothing: the defaults of the documentation", () => {
    expect(parse("")).toEqual({
      command: "run",
      format: "live",
      delaySeconds: 1,
      frequency: 99,
      events: [{ kind: "time", text: "cpu", event: "cpu" }],
      count: undefined,
      program: undefined,
      arguments: true,
      ascii: false,
      light: false,
      dark: false,
      stacks: 0,
      cache: true,
      pids: [],
      filter: "",
      sort: "self",
      iterations: undefined,
      rows: 50,
      kernel: true,
      nativeFrames: false,
      physical: false,
      idle: false,
      readableNames: false,
      color: true,
      exports: {},
    });
  });

  test("long and short forms mean the same", () => {
    const long = "--delay 0.5 --frequency 499 --event cpu --pid 1,2 --filter x --sort total";
    const short = "-d 0.5 -F 499 -e cpu -p 1,2 -f x -s total";
    expect(run(`${short} -n 3 -b`)).toEqual(run(`${long} --iterations 3 --batch`));
    expect(run("-d0.5 -F499 -ecpu -p1,2 -fx -stotal -n3 -b")).toEqual(run(`${short} -n 3 -b`));
    expect(run("-f=-x").filter).toBe("-x");
    expect(run("--filter=-x").filter).toBe("-x");
    expect(run("--delay=.5").delaySeconds).toBe(0.5);
  });

  test.each([
    ["--batch", "batch"],
    ["-b", "batch"],
    ["--once", "batch"],
    ["--json", "json"],
    ["--once --json", "json"],
    ["--batch --json", "json"],
    ["--folded", "folded"],
  ])("%s prints %s", (line, format) => {
    expect(run(line).format).toBe(format);
  });

  test("--once is one refresh", () => {
    expect(run("--once").iterations).toBe(1);
    expect(run("--once -n 1").iterations).toBe(1);
    expect(run("--batch").iterations).toBeUndefined();
  });

  test("switches", () => {
    expect(run("--no-kernel").kernel).toBe(false);
    expect(run("--no-cache").cache).toBe(false);
    expect(run("--no-color").color).toBe(false);
    expect(run("--native-frames").nativeFrames).toBe(true);
    expect(run("--readable-names").readableNames).toBe(true);
    expect(run("--rows 0").rows).toBe(0);
  });

  test("a process named twice counts once", () => {
    expect(run("-p 7,8,7").pids).toEqual([7, 8]);
  });

  test("commands", () => {
    expect(parse("doctor")).toEqual({ command: "doctor", json: false });
    expect(parse("doctor --json")).toEqual({ command: "doctor", json: true });
    expect(parse("record -o x -n 5 -p 7 -F 499 --pprof y")).toMatchObject({
      command: "record",
      output: "x",
      iterations: 5,
      pids: [7],
      frequency: 499,
      exports: { pprof: "y" },
    });
    expect(parse("replay x --json --speedscope y")).toMatchObject({
      command: "replay",
      file: "x",
      format: "json",
      delaySeconds: undefined,
      exports: { speedscope: "y" },
    });
    expect(parse("-h --foo=1".split(" ")[0] ?? "")).toEqual({ command: "help" });
    expect(parse("--version")).toEqual({ command: "version" });
  });
});

describe("what is refused", () => {
  test.each([
    ["-F abc", '--frequency is a whole number, 1 to 9999, not "abc"'],
    ["-F 0", '--frequency is a whole number, 1 to 9999, not "0"'],
    ["-F 10000", '--frequency is a whole number, 1 to 9999, not "10000"'],
    ["-F 99.5", '--frequency is a whole number, 1 to 9999, not "99.5"'],
    ["-F 0x63", '--frequency is a whole number, 1 to 9999, not "0x63"'],
    ["-d 0.09", '--delay is a number, 0.1 to 60, not "0.09"'],
    ["-d 61", '--delay is a number, 0.1 to 60, not "61"'],
    ["-d 1e1", '--delay is a number, 0.1 to 60, not "1e1"'],
    ["-d NaN", '--delay is a number, 0.1 to 60, not "NaN"'],
    ["-n 0", '--iterations is a whole number, 1 or more, not "0"'],
    ["-n -5", '--iterations is a whole number, 1 or more, not "-5"'],
    ["--rows -1", '--rows is a whole number, 0 or more, not "-1"'],
    ["-p 1,x", '--pid is a list like 42,43, not "1,x"'],
    ["-p 0", '--pid is a list like 42,43, not "0"'],
    ["-p 1,,2", '--pid is a list like 42,43, not "1,,2"'],
    ["-p 12345678901", '--pid is a list like 42,43, not "12345678901"'],
    ["--once=3", '--once takes no value, not "3"'],
    ["--help=", '--help takes no value, not ""'],
    ["-b1", '--batch takes no value, not "1"'],
    ["-s size", '--sort is one of self, total, name, module, pid, not "size"'],
    ["-e wait,cpu", "--event wait stands alone: it takes no other event beside it"],
    ["-e cs,cs", "--event has cs more than once"],
    ["-c 5", "--count is for events that are counted (-e): time has --frequency"],
    ["-e cs -c 5 -F 5", "--count and --frequency exclude each other: choose one"],
    ["--", "-- needs a command: polytop -- COMMAND ARG…"],
    ["-p 1 -- true", "--pid and a command exclude each other: choose one"],
    ["replay a -- true", "replay starts no command: leave out -- and what is behind it"],
    ["-F", "-F, --frequency needs a value: --frequency HZ"],
    ["--delay -b", "-d, --delay needs a value: --delay SECONDS"],
    ["--no-delay", "-d, --delay needs a value: --delay SECONDS"],
    ["-F 1 -F 2", "--frequency is given more than once"],
    ["--json --folded", "--json and --folded exclude each other: choose one"],
    ["--once -n 3", "--once is one refresh: leave it out to have -n"],
    ["--foo", "unknown option --foo (see polytop --help)"],
    ["--fooBar=1", "unknown option --foo-bar (see polytop --help)"],
    ["-x", "unknown option -x (see polytop --help)"],
    ["-bx", "unknown option -x (see polytop --help)"],
    ["top", 'unexpected word "top": options start with - (see polytop --help)'],
    ["doctor now", 'unexpected word "now": options start with - (see polytop --help)'],
    ["doctor -F 3", "doctor takes --json and nothing else, not --frequency"],
    ["record", "record needs a file: polytop record -o FILE"],
    ["record -o", "-o, --output needs a value: --output FILE"],
    ["record x", 'unexpected word "x": options start with - (see polytop --help)'],
    ["record -o x --json", "--json prints refreshes: `polytop record` prints nothing"],
    ["record -o x --rows 3", "--rows is about what is shown: `polytop replay` shows a recording"],
    ["record -o x -f y", "--filter is about what is shown: a recording holds all, use --pid"],
    ["replay", "replay needs a recording: polytop replay FILE"],
    ["replay x y", 'replay takes one recording, not "y" too'],
    ["replay x -F 9", "--frequency is about sampling: a recording is not sampled again"],
    ["replay x -o y", "--output belongs to `polytop record`"],
    ["-o x", "--output belongs to `polytop record`"],
    ["--pprof", "--pprof needs a value: --pprof FILE"],
    ["--delay.x 1", "-d, --delay needs a value: --delay SECONDS"],
  ])("%s", (line, message) => {
    expect(refusal(line)).toBe(message);
  });

  test("a filter that cannot be read, with the place", () => {
    expect(refusal("-f lang:cobol")).toMatch(/^--filter: lang: at 1 is one of/);
  });

  test("nothing that can be typed ends in another error than one for the user", () => {
    const word = fc.oneof(
      fc.string(),
      fc.constantFrom("-F", "-d", "-p", "-n", "--once", "--json", "--__proto__", "--", "doctor"),
      fc.string().map((text) => `--${text}`),
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 5 }), (argv) => {
        try {
          parseOptions(argv);
        } catch (error) {
          expect(error).toBeInstanceOf(UsageError);
          expect((error as Error).message.split("\n").length).toBeLessThanOrEqual(2);
        }
      }),
    );
  });
});

describe("help", () => {
  test("fits into 100 columns and names every option of the documentation", () => {
    const help = helpText();
    const lines = help.split("\n").slice(1);
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
    for (const option of [
      "-d, --delay SECONDS",
      "-F, --frequency HZ",
      "-e, --event EVENT[,…]",
      "-c, --count N",
      "-p, --pid PID[,PID…]",
      "-f, --filter TEXT",
      "-s, --sort KEY",
      "-n, --iterations N",
      "--once",
      "-b, --batch",
      "--json",
      "--folded",
      "--rows N",
      "--no-kernel",
      "--native-frames",
      "--no-cache",
      "--no-color",
      "-h, --help",
      "-v, --version",
      "--pprof FILE",
      "--speedscope FILE",
      "-o, --output FILE",
      "doctor [--json]",
      "record -o FILE",
      "replay FILE",
    ]) {
      expect(help).toContain(option);
    }
  });

  test("version", () => {
    expect(versionText()).toMatch(/^polytop \d+\.\d+\.\d+\n$/);
    const release = { commit: "0123456789abcdef0123", glibc: "2.28" };
    expect(versionText(release)).toMatch(
      /^polytop \d+\.\d+\.\d+ \(commit 0123456789ab, glibc 2\.28\)\n$/,
    );
  });
});
