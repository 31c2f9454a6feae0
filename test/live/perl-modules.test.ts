/** Perl modules written in C that run Perl code in ways of their own. */
import { describe, expect, test } from "vitest";
import { liveTicks } from "../support/live-ticks.ts";
import { machinesPerl, type Perl, perlWithModules } from "../support/perl.ts";
import { needsSampling } from "../support/polytop.ts";
import { during, hasRun, start } from "../support/profile.ts";
import { stackCounts } from "../support/ticks.ts";
import { sumMetric } from "../support/walks.ts";

const GRIND = "sub grind { my $s = 0; $s += $_ for 1 .. 30000; $s }";

/** Samples a script: the names of each stack, root first, without what is folded, and the shares of functions. */
async function sampleScript(perl: Perl, script: string, options: readonly string[] = []) {
  const [program = "", ...args] = [...perl.command, ...options, "-e", script];
  const ticks = await during([start(program, args)], async ([pid = 0]) => {
    await hasRun(pid, 0.7);
    return liveTicks({ seconds: 2, frequency: 499, pids: [pid] });
  });
  const stacks: { names: readonly string[]; count: number }[] = [];
  let samples = 0;
  for (const { stack, count } of stackCounts(...ticks)) {
    const user = stack.frames.filter((it) => !it.folded && it.function.runtime !== "kernel");
    stacks.push({ names: user.map((it) => it.function.name).toReversed(), count });
    samples += count;
  }
  const share = (test: (names: readonly string[]) => boolean) =>
    stacks.reduce((sum, { names, count }) => sum + (test(names) ? count : 0), 0) / samples;
  return {
    stacks,
    self: (name: string) => share((names) => names.at(-1) === name),
    total: (...names: readonly string[]) =>
      share((stack) => names.every((name) => stack.includes(name))),
    unpaired: sumMetric(ticks, "UnwindPerlUnpaired"),
  };
}

test("a sub written in C that calls Perl has its name, wherever it is in the stack", async (context) => {
  needsSampling(context);
  const perl = machinesPerl();
  if (typeof perl === "string") return context.skip(perl);
  const script = `use List::Util qw(first reduce); use Storable qw(dclone); use Encode; ${GRIND}
    package Hooked { sub new { bless {} } sub STORABLE_freeze { main::grind(); "x" } sub STORABLE_thaw { main::grind() } }
    my $hooked = [Hooked->new]; sub by_first { first { grind() } 1 } sub by_hook { dclone($hooked) }
    sub by_both { reduce { by_hook(); $a } 1, 2 }
    my $ascii = find_encoding("ascii"); sub by_method { $ascii->encode(chr(256), sub { grind(); "?" }) }
    while (1) { by_first(); by_hook(); by_both(); by_method() }`;
  const { self, total, unpaired } = await sampleScript(perl, script);
  expect(self("main::grind")).toBeGreaterThan(0.75);
  const [hook, first] = [total("main::by_hook"), total("main::by_first")];
  expect(total("main::by_hook", "Storable::dclone") / hook).toBeGreaterThan(0.85);
  expect(total("main::by_first", "List::Util::first") / first).toBeGreaterThan(0.85);
  const method = total("main::by_method");
  expect(total("main::by_method", "Encode::XS::encode") / method).toBeGreaterThan(0.85);
  const both = total("main::by_both");
  expect(total("main::by_both", "List::Util::reduce", "Storable::dclone") / both).toBeGreaterThan(
    0.85,
  );
  expect(unpaired).toBe(0);
});

describe("modules of Debian", () => {
  test("one that goes on in a run loop of its own: what it calls is further in", async (context) => {
    needsSampling(context);
    const perl = perlWithModules();
    if (typeof perl === "string") return context.skip(perl);
    const script = `use v5.36; use Future::AsyncAwait; use Future; no warnings; ${GRIND} my @pending;
      async sub outer { while (1) { await inner(); grind() } }
      async sub inner { my $f = Future->new; push @pending, $f; await $f; }
      my $keep = outer(); while (1) { $_->done for splice @pending }`;
    const { self, total, unpaired } = await sampleScript(perl, script);
    expect(self("main::grind")).toBeGreaterThan(0.75);
    expect(total("main::outer", "main::grind")).toBeGreaterThan(0.75);
    expect(unpaired).toBe(0);
  });

  test("one that takes the place of the interpreter's run loop", async (context) => {
    needsSampling(context);
    const perl = perlWithModules();
    if (typeof perl === "string") return context.skip(perl);
    const script = `${GRIND} sub by_sort { my @s = sort { grind(); $a <=> $b } 2, 1 }
      sub by_eval { eval { grind() } } while (1) { by_sort(); by_eval() }`;
    const options = ["-MDevel::Cover=-replace_ops,0,-silent,1,-db,/tmp/cover"];
    const { total, unpaired } = await sampleScript(perl, script, options);
    expect(total("(main)", "main::by_sort", "main::grind")).toBeGreaterThan(0.35);
    expect(total("(main)", "main::by_eval", "main::grind")).toBeGreaterThan(0.2);
    expect(unpaired).toBe(0);
  });
});
