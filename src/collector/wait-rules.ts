/**
 * What a wait is, where the names of its functions say more than the kernel side knows: which futex is a lock, and
 * whether the wait is for work. A thread that waits for work keeps nobody waiting: it is idle. The rules are pure functions.
 */
import { innermostOwn, isLibrary } from "../tick/application.ts";
import type { FunctionInfo } from "../tick/tick.ts";
import { isUninterruptible, type Reason, reasonOf, type Wait, withReason } from "../tick/waits.ts";

/** When a wait is idle: never, always, once it has lasted, or once it has lasted in several threads alike. */
export type IdleRule = "never" | "always" | "long" | "shared";

/** What the names in a stack tell of how its threads wait. */
export interface JudgedWait {
  /** With the reason that the names tell. */
  readonly wait: Wait;
  readonly idle: IdleRule;
  /** Which of the words that may name an owner does; undefined: the lock notes none. */
  readonly owner: OwnerWord | undefined;
}

/** The words of struct wait_owners (bpf/wait/abi.h). */
export type OwnerWord = "mutex" | "writer" | "writerForRead";

/** A wait has lasted when it is as long as this. */
export const LONG_SECONDS = 1;

/** Kernel functions that handle a page fault, on kernels 5.10 to 6.18; they may do so in any system call. */
const FAULT = /^(asm_)?exc_page_fault$|^handle_mm_fault$|^do_user_addr_fault$/;

/** Whoever opens a named pipe waits for the other end of it, kernels 5.10 to 6.18. */
const OPENS_PIPE = /^(fifo_open|wait_for_partner)$/;

/** Reasons by kernel functions, for system calls that say nothing, e.g. one that is begun again after a signal. */
const KERNEL_FUNCTIONS: readonly (readonly [RegExp, Reason])[] = [
  [/nanosleep/, "sleep"],
  [/futex/, "futex"],
  [/^(anon_)?pipe_/, "pipe"],
  [/^do_wait$|^kernel_wait4$|^wait_for_vfork/, "child"],
  [/^(do_epoll|ep_poll|do_sys_poll|do_select|core_sys_select|io_cqring_wait)/, "poll"],
  [/^(sock_|tcp_|udp_|unix_|inet_|__skb_wait)/, "socket"],
  [/^(io_schedule|folio_wait|wait_on_page|blk_|submit_bio|jbd2_)/, "disk"],
  [/^(do_sigtimedwait|sigsuspend|__do_sys_pause)/, "signal"],
  [/^(tty_|n_tty_)/, "device"],
];

/** glibc's locks: functions that it exports, and the one below them where there are symbols. */
const MUTEX = /pthread_mutex_\w*lock|lll_lock_wait/;
const WRITES = /pthread_rwlock_\w*wrlock/;
const READS = /pthread_rwlock_\w*rdlock/;
const NATIVE_LOCK = /pthread_(mutex|rwlock|spin)_\w*lock|lll_lock_wait/;
const DOTNET_LOCK = /^System\.Threading\.(Monitor\.(\w*Enter)|Lock\.(Try)?Enter)/;
const DOTNET_SLEEP = /^System\.Threading\.Thread\.Sleep/;
/** A method of the application waits for another thread. */
const DOTNET_OWN = /^System\.Threading\.(Monitor\.Wait|Tasks\.Task\.\w*Wait|SemaphoreSlim\.Wait)/;

/**
 * Loops that fetch work, by the function that waits in them or its caller: .NET's thread pool, timers and sockets;
 * libuv and Node's platform; nginx; the parents of Perl's preforking servers, which wait for news of their children;
 * PostgreSQL between two commands, and its helpers between two rounds.
 */
const LOOPS =
  /^System\.Threading\.(PortableThreadPool|TimerQueue|ThreadPoolWorkQueue|LowLevelLifoSemaphore)|^System\.Net\.Sockets\.SocketAsyncEngine|^uv__io_poll$|^uv_run$|^node::.*(PlatformWorkerThread|WorkerThreadsTaskRunner|TaskQueue|StartIoThread|SignalInspector)|^ngx_(process_events|\w*_process_events|master_process_cycle)|^Net::Server::\w+::run_parent$|^secure_read$|^(BackgroundWriter|Checkpointer|WalWriter|AutoVacLauncher|ApplyLauncher|PgArchiver|SysLogger|WalSummarizer|IoWorker|Postmaster)Main$|^ServerLoop$/;

/** Polytop's own programs that read files and memory for it: they have no symbols, and wait for the next question. */
const OWN_HELPERS = /^polytop-(parser|reader)$/;

/** PostgreSQL waits for locks, for other backends and in commands by the same functions as for clients. */
const NOT_LOOPS =
  /^(ProcSleep|ProcWaitForSignal|pg_sleep|SyncRepWaitForLSN|PostgresMain|exec_\w+)$/;

/** Node waits by a loop of its own for one child that a program calls, and V8 for Atomics.wait() of a program. */
const CALLED = /^node::SyncProcessRunner::|^v8::internal::FutexEmulation::/;

/** Functions of Perl's own modules that loops wait by. */
const PASSED = /^IO::(Select|Poll)::\w+$/;

/** A loop is at most so many functions, those of native libraries left out, away from where the kernel was entered. */
const LOOP_DEPTH = 5;

/** These are idle once they have lasted, and these never. */
const LONG: readonly Reason[] = ["poll", "child", "signal", "device"];
const NEVER: readonly Reason[] = ["cpu", "lock", "file-lock", "file", "disk", "fault", "stopped"];

/** Judges a wait by its stack, leaf first; `isWhole`: no frame of it is missing. */
export function judgeWait(
  wait: Wait,
  stack: readonly FunctionInfo[],
  isWhole: boolean,
): JudgedWait {
  const kernel = stack.filter(({ runtime }) => runtime === "kernel").map(({ name }) => name);
  const user = stack.filter(({ runtime }) => runtime !== "kernel");
  const own = innermostOwn(user);
  const library = own < 0 ? user : user.slice(0, own);
  const reason = refinedReason(reasonOf(wait), kernel, library);
  return {
    wait: withReason(wait, reason),
    idle: isWhole && !isUninterruptible(wait) ? idleRule(reason, user, own) : "never",
    owner: reason === "lock" ? ownerWord(reasonOf(wait), library) : undefined,
  };
}

/** `told`: the reason by the kernel side, which knows locks that inherit priorities by themselves. */
function ownerWord(told: Reason, library: readonly FunctionInfo[]): OwnerWord | undefined {
  const isIn = (lock: RegExp): boolean =>
    library.some(({ runtime, name }) => runtime === "native" && lock.test(name));
  if (told === "lock" || isIn(MUTEX)) return "mutex";
  if (isIn(WRITES)) return "writer";
  return isIn(READS) ? "writerForRead" : undefined;
}

function refinedReason(
  reason: Reason,
  kernel: readonly string[],
  library: readonly FunctionInfo[],
): Reason {
  if (reason === "cpu" || reason === "stopped") return reason;
  if (kernel.some((name) => FAULT.test(name))) return "fault";
  if (reason === "file" && kernel.some((name) => OPENS_PIPE.test(name))) return "pipe";
  if (reason === "fault" || reason === "unknown") {
    for (const name of kernel) {
      const found = KERNEL_FUNCTIONS.find(([pattern]) => pattern.test(name));
      if (found) return found[1];
    }
    return "unknown";
  }
  if (reason !== "futex") return reason;
  for (const { runtime, name } of library) {
    if (runtime === "native" && NATIVE_LOCK.test(name)) return "lock";
    if (runtime === "dotnet" && DOTNET_LOCK.test(name)) return "lock";
    if (runtime === "dotnet" && DOTNET_SLEEP.test(name)) return "sleep";
  }
  return reason;
}

function idleRule(reason: Reason, user: readonly FunctionInfo[], own: number): IdleRule {
  if (NEVER.includes(reason)) return "never";
  const known = loopRule(user);
  if (known) return known;
  // A connection that is yet to come is work; so is all that threads wait for that run no code of the application.
  if (reason === "accept" || own < 0) return "always";
  if (LONG.includes(reason)) return "long";
  if (reason !== "futex") return "never";
  return user.slice(0, own).some(({ name }) => DOTNET_OWN.test(name)) ? "never" : "shared";
}

/** Whether the wait is in a known loop: what the innermost functions say that are known. */
function loopRule(user: readonly FunctionInfo[]): IdleRule | undefined {
  if (user.some(({ module }) => OWN_HELPERS.test(module))) return "always";
  const isKnown = ({ name }: FunctionInfo): boolean => NOT_LOOPS.test(name) || LOOPS.test(name);
  const isPlain = (info: FunctionInfo): boolean => info.runtime !== "native" || !isLibrary(info);
  const near = user
    .filter((info) => (isKnown(info) || isPlain(info)) && !PASSED.test(info.name))
    .slice(0, LOOP_DEPTH);
  if (near.some(({ name }) => CALLED.test(name))) return "never";
  for (const info of near) {
    if (NOT_LOOPS.test(info.name)) return "never";
    if (LOOPS.test(info.name)) return "always";
    // A managed function of the application's own was called by a loop: it is work.
    if (info.runtime !== "native" && innermostOwn([info]) === 0) return undefined;
  }
  return undefined;
}
