/**
 * Puts the Perl frames of a stack between its native frames. Everything here is pure.
 *
 * A stack has two lists. C code that calls Perl (a sort, a tied variable, call_sv) enters a run loop of
 * its own, and the kernel side cuts the list of Perl frames at each such call. So the pieces (segments)
 * correspond to the run loops among the native frames, one to one, from the outermost inwards.
 * Facts: perl 5.28 to 5.42, run.c, perl.c (perl_run, call_sv), pp_ctl.c (docatch).
 */
import type { MergedFrames } from "../merged-frames.ts";

/** The role that a native frame has for the interpreter. */
export type NativeRole =
  | "run-loop"
  | "perl-run"
  | "perl-parse"
  | "perl-destruct"
  /** call_sv and call_list: C code that calls a sub. */
  | "call"
  /** Any other code of the interpreter's file. */
  | "interpreter"
  | "other"
  /** Why the native walk ended: there are more frames, and nobody knows which. */
  | "stop";

/**
 * The role of a Perl frame: `cut` says that C code called the frames before it, `stop` why the Perl walk ended. A
 * `mark` is no frame of its own.
 */
export type PerlRole = "frame" | "main" | "cut" | "stop" | "mark";

/** One of the two lists of a stack: numbers of frames and, at the same indexes, their roles. */
export interface FrameList<Role> {
  readonly numbers: ArrayLike<number>;
  readonly roles: readonly Role[];
}

/** A sub written in C that the leaf calls: it has a Perl frame of its own. */
export interface CalledXsub {
  readonly number: number;
  /** Index of the native frame that is its C function. */
  readonly at: number;
}

/** What else is known of a stack. */
export interface InterleaveOptions {
  /** The native walk hit its limit. */
  readonly truncated?: boolean;
  readonly xsub?: CalledXsub | undefined;
}

interface Segments {
  /** Where each begins in the Perl list, innermost first, and where the last one ends. */
  readonly bounds: readonly number[];
  /** The last one ends with the code outside of any sub. */
  readonly hasMain: boolean;
  /** There is a Perl frame in any. */
  readonly hasFrames: boolean;
  /** Index of the stop, -1 if there is none. */
  readonly stop: number;
}

/**
 * Merges the two lists of a stack into one; all are leaf first. Returns whether the numbers of run loops and of segments
 * disagree: the Perl frames then stand in one block.
 */
export function interleave(
  native: FrameList<NativeRole>,
  perl: FrameList<PerlRole>,
  into: MergedFrames,
  { truncated = false, xsub }: InterleaveOptions = {},
): boolean {
  const { bounds, hasMain, hasFrames, stop } = splitSegments(perl.roles);
  const roles = native.roles;
  const allLoops = indexesOf(roles, "run-loop");
  const isStopped = roles.includes("stop");
  const isOpen = truncated || isStopped;
  const outermost = allLoops.at(-1);
  const root = outermost === undefined ? "none" : isOpen ? "loop" : ownerOfRoot(roles, outermost);
  // The code outside of any sub runs in no loop of this thread: it is only where the others were started.
  const isRootOnly = hasMain && root !== "loop";
  const count = bounds.length - 1 - (isRootOnly ? 1 : 0);
  const paired = pair(roles, allLoops, count, isOpen);
  const places = paired ?? new Array<number>(count).fill(allLoops[0] ?? LEAF);

  const pushSegment = (segment: number): void => {
    const end = bounds[segment + 1] ?? 0;
    for (let at = bounds[segment] ?? 0; at < end; at++) {
      const role = perl.roles[at];
      if (role === "frame" || role === "main") into.push(perl.numbers[at] ?? 0);
    }
  };
  let next = 0;
  const pushUntil = (place: number): void => {
    while (next < count && (places[next] ?? OUTERMOST) <= place) pushSegment(next++);
  };
  pushUntil(LEAF);
  for (let index = 0; index < roles.length; index++) {
    const role = roles[index];
    pushUntil(role === "stop" ? OUTERMOST : index);
    if (isRootOnly && index === outermost && root === "phase") pushSegment(count);
    const isXsub = index === xsub?.at;
    if (isXsub) into.push(xsub.number);
    // The interpreter's own code is hidden only where a Perl frame is shown for it.
    const isHidden = hasFrames && (isXsub || (role !== "other" && role !== "stop"));
    into.pushNative(native.numbers[index] ?? 0, isHidden);
  }
  pushUntil(OUTERMOST);
  if (stop >= 0) into.push(perl.numbers[stop] ?? 0);
  return paired === undefined;
}

/** The places of segments that belong to no run loop: before all native frames, and behind them. */
const LEAF = -1;
const OUTERMOST = Infinity;

function indexesOf<Role>(roles: readonly Role[], wanted: Role): number[] {
  const found: number[] = [];
  for (let at = roles.indexOf(wanted); at >= 0; at = roles.indexOf(wanted, at + 1)) found.push(at);
  return found;
}

function splitSegments(roles: readonly PerlRole[]): Segments {
  const bounds = [0];
  let last: PerlRole = "cut";
  let hasFrames = false;
  let stop = -1;
  for (let at = 0; at < roles.length; at++) {
    const role = roles[at];
    if (role === "stop") stop = at;
    else if (role === "cut") bounds.push(at + 1);
    else if (role === "frame" || role === "main") hasFrames = true;
    else continue;
    if (role !== "stop") last = role;
  }
  // A walk that did not end leaves nothing behind its last cut.
  if (last !== "cut") bounds.push(roles.length);
  return { bounds, hasMain: last === "main", hasFrames, stop };
}

/** Says whether the run loop at `index` goes on where the next outer one, at `outer`, was. */
type ContinuationRule = (native: readonly NativeRole[], index: number, outer: number) => boolean;

/**
 * eval, require and try within a call of C code enter a run loop that no context belongs to (docatch in
 * pp_ctl.c). One native frame lies between the two loops where the op jumps to docatch, two where it
 * calls it, as the compiler saw fit: the rule under which the numbers agree is the right one.
 */
const CONTINUATION_RULES: readonly ContinuationRule[] = [
  (_native, index, outer) => outer - index === 2,
  (native, index, outer) =>
    outer - index === 2 ||
    (outer - index === 3 &&
      native[index + 1] === "interpreter" &&
      native[index + 2] === "interpreter"),
];

/** Indexes of the run loops that C code entered anew, innermost first. */
function freshLoops(
  native: readonly NativeRole[],
  all: readonly number[],
  isContinuation: ContinuationRule,
): number[] {
  const fresh: number[] = [];
  for (let i = 0; i < all.length; i++) {
    const index = all[i] ?? 0;
    if (!isContinuation(native, index, all[i + 1] ?? Infinity)) fresh.push(index);
  }
  return fresh;
}

/**
 * Says what runs in the outermost run loop: the code outside of any sub (`loop`), a sub that the interpreter calls
 * while it starts or ends (`phase`: BEGIN, END, DESTROY), or one that another program calls (`none`).
 */
function ownerOfRoot(native: readonly NativeRole[], outermost: number): "loop" | "phase" | "none" {
  const [below, next] = [native[outermost + 1], native[outermost + 2]];
  if (below === "perl-run" || (below === "interpreter" && next === "perl-run")) return "loop";
  for (let at = outermost; at < native.length; at++) {
    const role = native[at];
    if (role === "perl-run" || role === "perl-parse" || role === "perl-destruct") return "phase";
  }
  return "none";
}

/**
 * The places of so many segments: indexes of their run loops, LEAF or OUTERMOST, innermost first. Pairs them from the
 * outermost inwards: a call that is about to enter its loop, or has just left it, is the innermost. Where the outer
 * frames are unknown, it pairs from the innermost outwards. Returns undefined if the numbers disagree.
 */
function pair(
  native: readonly NativeRole[],
  all: readonly number[],
  count: number,
  isOpen: boolean,
): number[] | undefined {
  let offByOne: number[] | undefined;
  for (const rule of CONTINUATION_RULES) {
    const loops = freshLoops(native, all, rule);
    if (isOpen) return placesIn(loops, count, 0);
    if (loops.length === count) return loops;
    if (Math.abs(count - loops.length) === 1) offByOne ??= loops;
  }
  return offByOne && placesIn(offByOne, count, count - offByOne.length);
}

/** Places of so many segments, of which the `surplus` innermost ones come before all loops. */
function placesIn(loops: readonly number[], count: number, surplus: number): number[] {
  const places: number[] = [];
  for (let at = -surplus; places.length < count; at++) {
    places.push(at < 0 ? LEAF : (loops[at] ?? OUTERMOST));
  }
  return places;
}
