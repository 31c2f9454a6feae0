/** Plain outputs: programs and people's scripts read them. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseFilter } from "../../../src/model/filter/filter.ts";
import { foldedSink } from "../../../src/output/folded.ts";
import { jsonSink } from "../../../src/output/json.ts";
import type { SinkOptions } from "../../../src/output/sink.ts";
import { textSink } from "../../../src/output/text.ts";
import { OUTCOMES } from "../../../src/tick/tick.ts";
import { COUNTERS, makeTick, type StackCount, TickMaker, task } from "../../support/ticks.ts";

function options(more: Partial<SinkOptions> = {}, filterText = ""): SinkOptions {
  const parsed = parseFilter(filterText);
  return {
    filter: filterText !== "" && "filter" in parsed ? parsed.filter : undefined,
    sort: "self",
    rows: 50,
    kernel: true,
    nativeFrames: false,
    counters: COUNTERS,
    ...more,
  };
}

/** Two processes, every runtime, a broken stack, a folded frame. */
function example(): StackCount[] {
  const make = new TickMaker();
  const perl = task(4211, "report.pl");
  const shop = task(5120, "Shop.Api", { uid: 33 });
  const entry = "p:Ledger::Post::entry@/srv/ledger.pl";
  return [
    {
      stack: make.stack([`${entry}:12`, `!n:Perl_runops@perl`, "p:main::walk@/srv/r.pl:7"]),
      task: perl,
      count: 60,
    },
    {
      stack: make.stack(["!n:Perl_pp_match@perl", `${entry}:14`, "p:main::walk@/srv/r.pl:7"]),
      task: perl,
      count: 20,
    },
    {
      stack: make.stack(["d:Shop.Cart`1.Total@Shop.Core", "n:start_thread@libc.so.6"]),
      task: shop,
      count: 60,
    },
    { stack: make.stack(["n:inflate_fast@libz.so.1", "n:main@app"]), task: shop, count: 39 },
    {
      stack: make.stack([
        "k:copy_user_generic@kernel",
        "k:entry_SYSCALL@kernel",
        "n:read@libc.so.6",
      ]),
      task: shop,
      count: 16,
    },
    {
      stack: make.stack(["n:[native: stack not readable]"], "broken"),
      task: shop,
      count: 1,
    },
  ];
}

describe("text", () => {
  test("a table that eyes and awk can read", () => {
    expect(textSink(options()).tick(makeTick(example()))).toMatchInlineSnapshot(`
      "# polytop  web-3  2026-01-31T12:00:01.003Z  cpu-clock 99 Hz  2 CPUs 99 % busy  196 samples in 1.0 s
      # perl 40.8 %  .net 30.6 %  python 0.0 %  js 0.0 %  native 20.4 %  kernel 8.2 %
      # 99.4 % complete  0 missed  polytop 0.7 % cpu 90 MB
      #  SELF%  TOTAL% LANG   FUNCTION                     MODULE
          40.8    40.8 perl   Ledger::Post::entry          ledger.pl:12
          30.6    30.6 .net   Shop.Cart\`1.Total            Shop.Core
          19.9    19.9 native inflate_fast                 libz.so.1
           8.2     8.2 kernel copy_user_generic            kernel
           0.5     0.5 native [native: stack not readable] -
           0.0    40.8 perl   main::walk                   r.pl:7
           0.0    30.6 native start_thread                 libc.so.6
           0.0    19.9 native main                         app
           0.0     8.2 kernel entry_SYSCALL                kernel
           0.0     8.2 native read                         libc.so.6
      "
    `);
  });

  test("the second refresh stands apart from the first", () => {
    const sink = textSink(options({ rows: 1 }));
    const first = sink.tick(makeTick(example()));
    expect(sink.tick(makeTick(example()))).toBe(`\n${first}`);
  });

  test("only what was asked for", () => {
    const numbers = (more: Partial<SinkOptions>, filter = ""): string[] =>
      textSink(options(more, filter))
        .tick(makeTick(example()))
        .split("\n")
        .filter((line) => line !== "" && !line.startsWith("#"))
        .map((line) => line.trim().split(/ {2,}/)[0] ?? "");
    expect(numbers({ rows: 2 })).toHaveLength(2);
    expect(numbers({ rows: 0 })).toHaveLength(10);
    expect(numbers({}, "lang:perl")).toHaveLength(2);
    expect(numbers({ nativeFrames: true })).toHaveLength(12);
  });

  test("an empty table says why", () => {
    const text = (counts: StackCount[], filter = "", pids: number[] = []): string | undefined =>
      textSink(options({}, filter)).tick(makeTick(counts, { pids })).trimEnd().split("\n").at(-1);
    expect(text([])).toBe("# no samples in 1.0 s: the CPUs are idle");
    expect(text([], "", [7, 8])).toBe("# no samples of pid 7,8 in 1.0 s: idle, or gone");
    expect(text(example(), "nothing")).toBe(
      "# nothing matched nothing in 1.0 s; 196 samples in all",
    );
  });

  test("an event that did not happen is no idle CPU", () => {
    const event = { event: "major-faults", unit: "events" } as const;
    const text = (pids: number[]): string | undefined =>
      textSink(options())
        .tick(makeTick([], { ...event, pids }))
        .trimEnd()
        .split("\n")
        .at(-1);
    expect(text([])).toBe("# no major-faults in 1.0 s");
    expect(text([7])).toBe("# no major-faults of pid 7 in 1.0 s");
  });

  test.each(["self", "total", "name", "module", "pid"] as const)("sorted by %s", (sort) => {
    const json = jsonSink(options({ sort, rows: 0 })).tick(makeTick(example()));
    const rows: Record<string, never>[] = JSON.parse(json).functions;
    const keys = rows.map((row) => (sort === "pid" ? row.pids?.[0] : row[sort]) as never);
    const compare = (a: never, b: never): number => (a < b ? -1 : a > b ? 1 : 0);
    const ascending = keys.toSorted(compare);
    expect(keys).toEqual(sort === "self" || sort === "total" ? ascending.reverse() : ascending);
  });
});

describe("JSON", () => {
  test("the form that is promised", () => {
    const line = jsonSink(options({ version: "1.2.3", kernelRelease: "6.18.0" })).tick(
      makeTick(example(), { metrics: { FilesRequested: 2 } }),
    );
    expect(line.endsWith("\n")).toBe(true);
    expect(line.trimEnd()).not.toContain("\n");
    const { functions, processes, metrics, ...rest } = JSON.parse(line);
    expect(rest).toEqual({
      schema: "polytop.snapshot/1",
      host: "web-3",
      version: "1.2.3",
      kernel: "6.18.0",
      busyPercent: 99,
      notices: [],
      time: "2026-01-31T12:00:01.003Z",
      intervalSeconds: 1,
      event: "cpu-clock",
      frequency: 99,
      cpus: 2,
      samples: 196,
      missed: 0,
      stacks: { unique: 6, complete: 195, guessed: 0, truncated: 0, broken: 1 },
      runtimes: { perl: 80, dotnet: 60, python: 0, javascript: 0, native: 40, kernel: 16 },
      self: { cpuPercent: 0.7, rssBytes: 90_000_000, bpfNanosecondsPerSample: 3100 },
    });
    expect(functions[0]).toEqual({
      runtime: "perl",
      name: "Ledger::Post::entry",
      module: "/srv/ledger.pl",
      line: 12,
      self: 80,
      total: 80,
      selfPercent: 40.8,
      totalPercent: 40.8,
      pids: [4211],
      pidCount: 1,
    });
    expect(functions[1]).not.toHaveProperty("line");
    expect(processes).toEqual([
      {
        pid: 5120,
        comm: "Shop.Api",
        samples: 116,
        percent: 59.2,
        cpuPercent: 117.1,
        runtimes: ["dotnet", "native", "kernel"],
        complete: 115,
        guessed: 0,
      },
      {
        pid: 4211,
        comm: "report.pl",
        samples: 80,
        percent: 40.8,
        cpuPercent: 80.8,
        runtimes: ["perl"],
        complete: 80,
        guessed: 0,
      },
    ]);
    expect(Object.keys(metrics)).toEqual(COUNTERS.map(({ name }) => name));
    expect(metrics.FilesRequested).toBe(2);
    expect(metrics.SamplesTaken).toBe(0);
  });

  test("without kernel frames nothing is lost from the sum", () => {
    const line = jsonSink(options({ kernel: false, rows: 0 })).tick(makeTick(example()));
    const { functions, samples } = JSON.parse(line);
    expect(functions.some((row: { runtime: string }) => row.runtime === "kernel")).toBe(false);
    expect(sum(functions.map((row: { self: number }) => row.self))).toBe(samples);
  });
});

describe("collapsed stacks", () => {
  test("the whole run, once, root first", () => {
    const sink = foldedSink(options());
    expect(sink.tick(makeTick(example())) + sink.tick(makeTick(example().slice(0, 1)))).toBe("");
    expect(sink.end()).toMatchInlineSnapshot(`
      "Shop.Api;[native: stack not readable] 1
      Shop.Api;main;inflate_fast 39
      Shop.Api;read;entry_SYSCALL_[k];copy_user_generic_[k] 16
      Shop.Api;start_thread;Shop.Cart\`1.Total 60
      report.pl;main::walk;Ledger::Post::entry 140
      "
    `);
  });

  test("what separates frames and lines is no part of a name", () => {
    const make = new TickMaker();
    const sink = foldedSink(options());
    const stack = make.stack(["n:a;b", "n:c\nd 7", "n:\u001b[31mred"]);
    sink.tick(makeTick([{ stack, task: task(1, "x;y\n"), count: 2 }]));
    expect(sink.end()).toBe("x:y\\x0a;\\x1b[31mred;c\\x0ad_7;a:b 2\n");
  });

  test("without kernel frames", () => {
    const make = new TickMaker();
    const sink = foldedSink(options({ kernel: false }));
    const only = make.stack(["k:do_idle@kernel"]);
    const both = make.stack(["k:read@kernel", "n:main@app"]);
    sink.tick(
      makeTick([
        { stack: only, task: task(1, "a"), count: 1 },
        { stack: both, task: task(1, "a"), count: 2 },
      ]),
    );
    expect(sink.end()).toBe("a;[kernel]_[k] 1\na;main 2\n");
  });

  test("a filter chooses stacks", () => {
    const sink = foldedSink(options({}, "inflate"));
    sink.tick(makeTick(example()));
    expect(sink.end()).toBe("Shop.Api;main;inflate_fast 39\n");
  });

  test("a stack that holds guesses says so outside of its frames", () => {
    const make = new TickMaker();
    const frames = ["n:leaf", "n:main"];
    const counts = (["complete", "guessed"] as const).map((outcome, i) => ({
      stack: make.stack(frames, outcome),
      task: task(1, "app"),
      count: i + 1,
    }));
    const sink = foldedSink(options());
    sink.tick(makeTick(counts));
    expect(sink.end()).toBe("app;[guessed];main;leaf 2\napp;main;leaf 1\n");
  });
});

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

describe("whatever the samples are", () => {
  const name = fc.oneof(fc.string({ unit: "binary", maxLength: 8 }), fc.constantFrom("a", "b"));
  const frame = fc
    .tuple(fc.constantFrom("", "!"), fc.constantFrom("p", "d", "n", "k"), name)
    .map(([folded, kind, text]) => `${folded}${kind}:${text.replaceAll("@", "")}`);
  const counts = fc
    .array(
      fc.record({
        frames: fc.array(frame, { minLength: 1, maxLength: 6 }),
        outcome: fc.constantFrom(...OUTCOMES),
        pid: fc.integer({ min: 1, max: 4 }),
        comm: name,
        count: fc.integer({ min: 1, max: 9 }),
      }),
      { maxLength: 8 },
    )
    .map((list) => {
      const make = new TickMaker();
      return list.map(({ frames, outcome, pid, comm, count }) => ({
        stack: make.stack(frames, outcome),
        task: task(pid, comm),
        count,
      }));
    });
  const shown = fc.record({ kernel: fc.boolean(), nativeFrames: fc.boolean() });

  test("sums agree", () => {
    fc.assert(
      fc.property(counts, shown, (list, more) => {
        const tick = makeTick(list);
        const json = JSON.parse(jsonSink(options({ rows: 0, ...more })).tick(tick));
        const { samples, stacks, functions, processes, runtimes } = json;
        expect(samples).toBe(tick.samples);
        expect(stacks.complete + stacks.guessed + stacks.truncated + stacks.broken).toBe(samples);
        expect(sum(functions.map((row: { self: number }) => row.self))).toBe(samples);
        expect(sum(processes.map((row: { samples: number }) => row.samples))).toBe(samples);
        expect(sum(Object.values(runtimes))).toBe(samples);
        const sink = foldedSink(options(more));
        sink.tick(tick);
        const lines = sink.end().split("\n").slice(0, -1);
        expect(sum(lines.map((line) => Number(line.split(" ").at(-1))))).toBe(samples);
      }),
    );
  });

  test("no output holds what a terminal would obey", () => {
    fc.assert(
      fc.property(counts, (list) => {
        const tick = makeTick(list);
        const folded = foldedSink(options());
        folded.tick(tick);
        const json = jsonSink(options()).tick(tick);
        for (const text of [textSink(options()).tick(tick), json, folded.end()]) {
          expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
        }
      }),
    );
  });
});
