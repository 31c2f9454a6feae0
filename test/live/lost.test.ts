/** Native code that nobody can walk, called by an interpreter: the interpreter's own frames are known all the same. */
import { expect, type TestContext, test } from "vitest";
import { liveTicks } from "../support/live-ticks.ts";
import { machinesPerl } from "../support/perl.ts";
import { needsSampling } from "../support/polytop.ts";
import { during, hasRun, start } from "../support/profile.ts";
import { machinesPython } from "../support/python.ts";
import { stackCounts } from "../support/ticks.ts";
import { workload } from "../support/workloads.ts";

const PYTHON = `import ctypes, sys, threading
lose = ctypes.CDLL(sys.argv[1]).lose
def work(): lose()
def outer(): work()
`;

const PERL = `require DynaLoader; my $file = DynaLoader::dl_load_file($ARGV[0]);
DynaLoader::dl_install_xsub("main::lose", DynaLoader::dl_find_symbol($file, "lose"));
sub work { lose() } sub outer { work() }
`;

const REASON = "[native: no unwind rule for this code]";

/** Stacks of a program as names, root first, with the share of samples that they have. */
async function sharesOf(program: string, args: readonly string[], context: TestContext) {
  needsSampling(context);
  const library = workload("lost.c", { flags: ["-shared"] });
  const ticks = await during([start(program, [...args, library])], async ([pid = 0]) => {
    await hasRun(pid, 0.5);
    return liveTicks({ seconds: 3, frequency: 199, pids: [pid] });
  });
  const shares = new Map<string, number>();
  let samples = 0;
  // Until the table of the interpreter's file is built, it is not known to be one.
  for (const { stack, count } of stackCounts(...ticks.slice(1))) {
    if (stack.frames.some((it) => it.function.name === "[native: unwind table being built]"))
      continue;
    const user = stack.frames.filter((it) => !it.folded && it.function.runtime !== "kernel");
    const names = user.map((it) => it.function.name).toReversed();
    if (names.includes("lose")) expect(stack.outcome).toBe("broken");
    const text = names.join(";");
    shares.set(text, (shares.get(text) ?? 0) + count);
    samples += count;
  }
  expect(samples).toBeGreaterThan(50);
  return (text: string) => (shares.get(text) ?? 0) / samples;
}

test("Python", async (context) => {
  if (typeof machinesPython() === "string") return context.skip("python3 is not installed");
  const share = await sharesOf("/usr/bin/python3", ["-c", `${PYTHON}outer()`], context);
  expect(share(`(module);outer;work;${REASON};lose`)).toBeGreaterThan(0.95);
});

test("Python, in a thread of it", async (context) => {
  if (typeof machinesPython() === "string") return context.skip("python3 is not installed");
  const script = `${PYTHON}threading.Thread(target=outer).start()`;
  const share = await sharesOf("/usr/bin/python3", ["-c", script], context);
  expect(
    share(`Thread._bootstrap;Thread._bootstrap_inner;Thread.run;outer;work;${REASON};lose`),
  ).toBeGreaterThan(0.95);
});

test("Perl", async (context) => {
  if (typeof machinesPerl() === "string") return context.skip("perl is not installed");
  const share = await sharesOf("perl", ["-e", `${PERL}outer()`], context);
  expect(share(`(main);main::outer;main::work;${REASON};lose`)).toBeGreaterThan(0.95);
});
