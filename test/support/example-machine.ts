/**
 * A machine as people know it, made up, the same each time: two CPUs, a Perl service, a .NET one, a
 * database and a compiler. After three quarters of a minute a change of the ledger makes its audit slow. Golden
 * screens and the pictures of the documentation are of this one recording.
 */
import { join } from "node:path";
import { RecordingWriter } from "../../src/recording/writer.ts";
import type { Task, Tick } from "../../src/tick/tick.ts";
import { randomNumbers } from "../screen/generate.ts";
import { HEADER } from "./recordings.ts";
import { COUNTERS, makeTick, type Stack, TickMaker, task } from "./ticks.ts";

/** Refreshes, a second each. */
const TICKS = 60;
/** When the audit becomes slow. */
const CHANGE = 44;
/** Samples of two CPUs at 99 Hz that are mostly busy. */
const SAMPLES = 172;

const START = Date.UTC(2026, 0, 31, 12, 0, 1);

/** The counters that are recorded: a part, so that a new one changes no screen. */
const NAMES = [
  "UnwindNativeAttempts",
  "UnwindNativeFrames",
  "UnwindNativeComplete",
  "UnwindNativeErrNoRow",
  "UnwindNativeErrFilePending",
  "SamplesTaken",
  "SamplesCounted",
  "UnwindPerlAttempts",
  "UnwindPerlFrames",
  "UnwindPerlComplete",
  "UnwindPerlTSD",
  "UnwindPerlReadStackInfo",
  "UnwindPerlReadContextStackEntry",
  "UnwindPerlResolveEGV",
  "UnwindDotnetAttempts",
  "UnwindDotnetFrames",
  "UnwindDotnetErrCodeHeader",
];
const RECORDED = COUNTERS.filter(({ name }) => NAMES.includes(name));

const labelOf = (name: string): string => RECORDED.find((one) => one.name === name)?.label ?? "";

const START_C = ["n:__libc_start_call_main@libc.so.6", "n:_start@perl"];
const IN_PERL = ["!n:Perl_runops_standard@perl", "!n:perl_run@perl", "!n:main@perl", ...START_C];
const LEDGER = "/srv/ledger/lib/Ledger";
const REQUEST = [
  "p:main::handle@/srv/ledger/ledger.pl:40",
  "p:main::serve@/srv/ledger/ledger.pl:71",
  "p:(main)@/srv/ledger/ledger.pl:80",
  ...IN_PERL,
];
const POST = [`p:Ledger::Post::batch@${LEDGER}/Post.pm:31`, ...REQUEST];
const AUDIT = [`p:Ledger::Audit::run@${LEDGER}/Audit.pm:77`, ...REQUEST];
const CART = [
  "d:Shop.Api.CartController.Show@Shop.Api",
  "d:Microsoft.AspNetCore.Routing.EndpointMiddleware.Invoke@Microsoft.AspNetCore.Routing",
  "d:System.Threading.ThreadPoolWorkQueue.Dispatch@System.Private.CoreLib",
  "n:start_thread@libc.so.6",
];
const QUERY = [
  "n:ExecutorRun@postgres",
  "n:PortalRun@postgres",
  "n:PostgresMain@postgres",
  "n:main@postgres",
  "n:_start@postgres",
];
const COMPILE = [
  "n:execute_one_pass@cc1plus",
  "n:symbol_table::finalize_compilation_unit@cc1plus",
  "n:toplev::main@cc1plus",
  "n:main@cc1plus",
  "n:_start@cc1plus",
];
const READ = ["k:copy_page_to_iter@kernel", "k:filemap_read@kernel", "k:ksys_read@kernel"];

/** Stacks by who has them, each with its part of the samples before and after the change. */
const LOAD: readonly (readonly [who: string, before: number, after: number, frames: string[]])[] = [
  ["ledger", 18, 14, [`p:Ledger::Post::entry@${LEDGER}/Post.pm:14`, ...POST]],
  ["ledger", 9, 7, [`p:Ledger::Post::entry@${LEDGER}/Post.pm:13`, ...POST]],
  ["ledger", 5, 4, [`p:Ledger::Post::round@${LEDGER}/Post.pm:22`, ...POST]],
  ["ledger", 3, 34, [`p:Ledger::Audit::check@${LEDGER}/Audit.pm:52`, ...AUDIT]],
  ["ledger", 1, 8, [`p:Ledger::Audit::check@${LEDGER}/Audit.pm:49`, ...AUDIT]],
  ["ledger", 5, 4, ["n:sha256_block@SHA.so", `p:Digest::SHA::sha256@${LEDGER}/Post.pm:9`, ...POST]],
  ["ledger", 3, 3, ["p:JSON::PP::_decode@/usr/share/perl/5.36/JSON/PP.pm:812", ...REQUEST]],
  ["ledger", 4, 3, [...READ, "n:read@libc.so.6", "!n:PerlIO_fill@perl", ...REQUEST]],
  ["shop", 14, 12, ["d:Shop.Cart`1.Total@Shop.Core", ...CART]],
  ["shop", 6, 5, ["d:System.Text.Json.JsonSerializer.WriteCore@System.Text.Json", ...CART]],
  ["shop", 4, 3, ["n:SVR::gc_heap::mark_object_simple@libclrgc.so", "n:start_thread@libc.so.6"]],
  ["shop", 3, 3, ["n:inflate_fast@libz.so.1", "n:inflate@libz.so.1", ...CART]],
  [
    "postgres",
    6,
    6,
    ["n:hash_search_with_hash_value@postgres", "n:ExecHashJoin@postgres", ...QUERY],
  ],
  ["postgres", 4, 4, [...READ, "n:pread64@libc.so.6", ...QUERY]],
  ["postgres", 3, 3, ["n:slot_deform_heap_tuple@postgres", "n:ExecScan@postgres", ...QUERY]],
  ["cc1plus", 5, 5, ["n:cc1plus+0xb5e210@cc1plus", ...COMPILE]],
  ["cc1plus", 4, 4, ["n:ggc_internal_alloc@cc1plus", "n:make_node@cc1plus", ...COMPILE]],
  ["cc1plus", 3, 3, ["k:clear_page_erms@kernel", "k:asm_exc_page_fault@kernel", ...COMPILE]],
  ["ksoftirqd", 2, 2, ["k:net_rx_action@kernel", "k:handle_softirqs@kernel", "k:kthread@kernel"]],
];

const LEDGERS: readonly Task[] = [4211, 4212, 4213].map((pid) =>
  task(pid, "ledger.pl", { parentPid: 4200, uid: 33 }),
);
const WHO: Readonly<Record<string, readonly Task[]>> = {
  ledger: LEDGERS,
  shop: [5120, 5131, 5132].map((tid) =>
    task(5120, "Shop.Api", {
      tid,
      uid: 1000,
      startTime: 51200,
      thread: tid === 5120 ? "Shop.Api" : ".NET TP Worker",
    }),
  ),
  postgres: [6301, 6302].map((pid) => task(pid, "postgres", { parentPid: 6300, uid: 110 })),
  cc1plus: [task(7777, "cc1plus", { parentPid: 7770, uid: 1000 })],
  ksoftirqd: [task(16, "ksoftirqd/0", { parentPid: 2 })],
};

function pick(stacks: readonly { stack: Stack; weight: number }[], at: number): Stack {
  let left = at * stacks.reduce((sum, { weight }) => sum + weight, 0);
  for (const { stack, weight } of stacks) {
    left -= weight;
    if (left < 0) return stack;
  }
  throw new Error("there is nothing to pick from");
}

/** All refreshes. */
export function exampleTicks(): Tick[] {
  const make = new TickMaker();
  const load = LOAD.map(([who, before, after, frames]) => {
    return { who, before, after, stack: make.stack(frames) };
  });
  const unreadable = make.stack(
    [`p:[${labelOf("UnwindPerlReadContextStackEntry")}]`, ...IN_PERL],
    "broken",
  );
  const stacks = [...load.map(({ stack }) => stack), unreadable];
  const random = randomNumbers(42);
  return Array.from({ length: TICKS }, (_, second) => {
    const weighted = load.map((one) => ({
      ...one,
      weight: second < CHANGE ? one.before : one.after,
    }));
    const counts = new Map<string, { stack: Stack; task: Task; count: number }>();
    for (let i = 0; i < SAMPLES; i++) {
      const isBroken = i === 0 && second % 20 === 7;
      const stack = isBroken ? unreadable : pick(weighted, random(1e6) / 1e6);
      const who = load.find((one) => one.stack === stack)?.who ?? "ledger";
      const tasks = WHO[who] ?? LEDGERS;
      const whose = tasks[random(tasks.length)] ?? (LEDGERS[0] as Task);
      const key = `${stacks.indexOf(stack)} ${whose.tid}`;
      const known = counts.get(key);
      if (known) known.count++;
      else counts.set(key, { stack, task: whose, count: 1 });
    }
    const list = [...counts.values()];
    const having = (runtime: string): number =>
      list
        .filter(({ stack }) => stack.frames.some((one) => one.function.runtime === runtime))
        .reduce((sum, { count }) => sum + count, 0);
    const frames = list.reduce((sum, { stack, count }) => sum + count * stack.frames.length, 0);
    const [perl, dotnet] = [having("perl"), having("dotnet")];
    const broken = second % 20 === 7 ? 1 : 0;
    return makeTick(list, {
      time: START + second * 1000,
      intervalSeconds: 1,
      missed: second % 25 === 24 ? 1 : 0,
      metrics: {
        UnwindNativeAttempts: SAMPLES,
        UnwindNativeFrames: frames,
        UnwindNativeComplete: SAMPLES,
        SamplesTaken: SAMPLES,
        SamplesCounted: SAMPLES,
        UnwindPerlAttempts: perl,
        UnwindPerlFrames: perl * 5,
        UnwindPerlComplete: perl - broken,
        UnwindPerlReadContextStackEntry: broken,
        UnwindDotnetAttempts: dotnet,
        UnwindDotnetFrames: dotnet * 4,
      },
      self: {
        cpuPercent: 0.9,
        bpfCpuPercent: 0.3,
        rssBytes: 96e6,
        bpfNanosecondsPerSample: 3100,
      },
    });
  });
}

/** Records it into a folder; returns the file. */
export function recordExample(folder: string): string {
  const path = join(folder, "example.polytop");
  const writer = new RecordingWriter(path, { ...HEADER, counters: RECORDED }, { replace: true });
  for (const tick of exampleTicks()) writer.add(tick);
  writer.end();
  return path;
}
