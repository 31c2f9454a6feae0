import { describe, expect, test } from "vitest";
import { judgeWait } from "../../../src/collector/wait-rules.ts";
import { REASONS, type Reason, reasonOf, WAITS } from "../../../src/tick/waits.ts";
import { TickMaker } from "../../support/ticks.ts";

const maker = new TickMaker();

/** Judges a wait by its frames, leaf first: `n:name@module`, kernel frames `k:name`. */
const judge = (reason: Reason, frames: readonly string[], isWhole = true) =>
  judgeWait(
    REASONS.indexOf(reason),
    frames.map((text) => maker.frame(text).function),
    isWhole,
  );

const FUTEX = ["k:futex_wait", "k:do_syscall_64"];

describe("the reason", () => {
  test.each<[string, Reason, string[], Reason]>([
    ["a mutex", "futex", [...FUTEX, "n:__lll_lock_wait@libc.so.6", "n:work@app"], "lock"],
    ["a mutex without symbols", "futex", [...FUTEX, "n:pthread_mutex_lock@libc.so.6"], "lock"],
    ["a condition", "futex", [...FUTEX, "n:pthread_cond_wait@libc.so.6", "n:work@app"], "futex"],
    [
      "Thread.Sleep",
      "futex",
      [
        ...FUTEX,
        "n:libcoreclr.so+0x1@libcoreclr.so",
        "d:System.Threading.Thread.Sleep@System.Private.CoreLib",
        "d:App.Work@App",
      ],
      "sleep",
    ],
    [
      "a lock of .NET",
      "futex",
      [...FUTEX, "d:System.Threading.Monitor.Enter@System.Private.CoreLib", "d:App.Work@App"],
      "lock",
    ],
    ["a fault in a read", "file", ["k:io_schedule", "k:exc_page_fault", "k:vfs_read"], "fault"],
    ["the other end of a named pipe", "file", ["k:wait_for_partner", "k:do_sys_openat2"], "pipe"],
    ["an exception that is no fault", "fault", ["k:irqentry_exit_to_user_mode"], "unknown"],
    ["a call begun again", "unknown", ["k:do_nanosleep", "k:restart_syscall"], "sleep"],
    ["a queue, whatever it blocked on", "cpu", ["k:futex_wait"], "cpu"],
    [
      "a lock's name in the application",
      "futex",
      [...FUTEX, "n:my_pthread_mutex_lock@app"],
      "futex",
    ],
  ])("%s", (_, given, frames, expected) => {
    expect(reasonOf(judge(given, frames).wait)).toBe(expected);
  });

  test.each<[string, Reason, string, string | undefined]>([
    ["mutexes", "futex", "n:pthread_mutex_lock@libc.so.6", "mutex"],
    ["locks that the kernel knows", "lock", "n:syscall@libc.so.6", "mutex"],
    ["readers", "futex", "n:pthread_rwlock_rdlock@libc.so.6", "writerForRead"],
    ["writers", "futex", "n:__pthread_rwlock_timedwrlock@libc.so.6", "writer"],
    ["conditions", "futex", "n:pthread_cond_wait@libc.so.6", undefined],
  ])("the word that names the owner: %s", (_, reason, frame, expected) => {
    expect(judge(reason, [...FUTEX, frame, "n:a@app"]).owner).toBe(expected);
  });

  test("every number that a wait can be is judged", () => {
    for (let wait = 1; wait < WAITS; wait++) {
      expect(() => judgeWait(wait, [], true)).not.toThrow();
    }
  });
});

describe("waits for work", () => {
  const LIBC = "n:epoll_wait@libc.so.6";
  const POOL =
    "d:System.Threading.PortableThreadPool+WorkerThread.WorkerThreadStart@System.Private.CoreLib";
  const CLR = ["n:libcoreclr.so+0x1@libcoreclr.so", "n:libcoreclr.so+0x2@libcoreclr.so"];

  test.each<[string, Reason, string[], string]>([
    ["a worker of .NET's pool", "futex", [...FUTEX, ...CLR, POOL], "always"],
    [
      "the application's method that a worker runs",
      "futex",
      [
        ...FUTEX,
        ...CLR,
        "d:System.Threading.SemaphoreSlim.Wait@System.Private.CoreLib",
        "d:App.Work@App",
        POOL,
      ],
      "never",
    ],
    [
      "a thread of the runtime alone",
      "futex",
      [...FUTEX, ...CLR, "n:start_thread@libc.so.6"],
      "always",
    ],
    [
      "a child that a program of Node waits for",
      "poll",
      [LIBC, "n:uv__io_poll@node", "n:uv_run@node", "n:node::SyncProcessRunner::Spawn@node"],
      "never",
    ],
    [
      "Atomics.wait() of a program",
      "futex",
      ["n:pthread_cond_wait@libc.so.6", "n:v8::internal::FutexEmulation::WaitSync<int>@node"],
      "never",
    ],
    [
      "the parent of a preforking server in Perl",
      "pipe",
      ["n:select@libc.so.6", "p:IO::Select::can_read@S.pm", "p:Net::Server::PreFork::run_parent@P"],
      "always",
    ],
    [
      "a function of that server's application",
      "pipe",
      [
        "n:select@libc.so.6",
        "p:IO::Select::can_read@S.pm",
        "p:App::ask@A",
        "p:Net::Server::PreFork::run_parent@P",
      ],
      "never",
    ],
    ["Node's loop", "poll", [LIBC, "n:uv__io_poll@node", "n:uv_run@node", "n:main@node"], "always"],
    [
      "a call of a callback of that loop",
      "futex",
      [
        "n:syscall@libc.so.6",
        ...Array.from({ length: 6 }, (_, i) => `n:f${i}@node`),
        "n:uv_run@node",
      ],
      "shared",
    ],
    [
      "nginx without symbols of its own",
      "poll",
      [LIBC, "n:nginx+0x10@nginx", "n:ngx_process_events_and_timers@nginx", "n:main@nginx"],
      "always",
    ],
    [
      "PostgreSQL between two commands",
      "poll",
      [LIBC, "n:WaitEventSetWait@postgres", "n:secure_read@postgres", "n:PostgresMain@postgres"],
      "always",
    ],
    [
      "PostgreSQL for a lock",
      "poll",
      [
        LIBC,
        "n:WaitEventSetWait@postgres",
        "n:WaitLatch@postgres",
        "n:ProcSleep@postgres",
        "n:PostgresMain@postgres",
        "n:PostmasterMain@postgres",
      ],
      "never",
    ],
    ["accept", "accept", ["n:accept@libc.so.6", "n:serve@app"], "always"],
    ["an unknown loop", "poll", [LIBC, "n:loop@app"], "long"],
    [
      "polytop's reader of memory",
      "socket",
      ["n:polytop-reader+0x401499@polytop-reader"],
      "always",
    ],
    [
      "threads on a condition",
      "futex",
      [...FUTEX, "n:pthread_cond_wait@libc.so.6", "n:work@app"],
      "shared",
    ],
    ["a mutex", "futex", [...FUTEX, "n:pthread_mutex_lock@libc.so.6", "n:work@app"], "never"],
    ["sleep of the application", "sleep", ["n:nanosleep@libc.so.6", "n:work@app"], "never"],
    ["an answer over a socket", "socket", ["n:recv@libc.so.6", "p:Store::query@a.pl:3"], "never"],
    ["a disk", "disk", ["k:io_schedule", "n:read@libc.so.6"], "never"],
  ])("%s: %s", (_, reason, frames, rule) => {
    expect(judge(reason, frames).idle).toBe(rule);
  });

  test("nothing is said of a stack that is not whole, and of state D", () => {
    expect(judge("futex", FUTEX, false).idle).toBe("never");
    expect(judgeWait(0x80 | REASONS.indexOf("unknown"), [], true).idle).toBe("never");
  });
});
