/**
 * Puts the Perl frames of a stack between its native frames. Everything here is pure.
 *
 * A stack has two lists. C code that calls Perl (a sort, a tied variable, call_sv) enters a run loop of
 * its own, and the kernel side cuts the list of Perl frames at each such call. So the pieces (segments)
 * correspond to the run loops among the native frames, one to one, from the outermost inwards.
 * Facts: perl 5.28 to 5.42, run.c, perl.c (perl_run, call_sv), pp_ctl.c (docatch).
 */
import type { MergedFrame } from "../reader.ts";

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

export interface NativeFrame {
  readonly number: number;
  readonly role: NativeRole;
}

/** The role of a Perl frame: `cut` says that C code called the frames before it, `stop` why the Perl walk ended. */
export type PerlRole = "frame" | "main" | "cut" | "stop";

export interface PerlFrame {
  readonly number: number;
  readonly role: PerlRole;
}

export interface Merged {
  /** The leaf comes first. */
  readonly frames: readonly MergedFrame[];
  /** The numbers of run loops and of segments disagree: the Perl frames stand in one block. */
  readonly unpaired: boolean;
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
  /** Segments, innermost first; each begins with its innermost frame. */
  readonly lists: PerlFrame[][];
  readonly stop: PerlFrame | undefined;
}

/** Merges the two lists of a stack; both are leaf first. */
export function interleave(
  native: readonly NativeFrame[],
  perl: readonly PerlFrame[],
  { truncated = false, xsub }: InterleaveOptions = {},
): Merged {
  const { lists, stop } = splitSegments(perl);
  const allLoops: number[] = [];
  let isStopped = false;
  for (const [index, { role }] of native.entries()) {
    if (role === "run-loop") allLoops.push(index);
    else if (role === "stop") isStopped = true;
  }
  const outermost = allLoops.at(-1);
  const isOpen = truncated || isStopped;
  const root = outermost === undefined ? "none" : isOpen ? "loop" : ownerOfRoot(native, outermost);
  // The code outside of any sub runs in no loop of this thread: it is only where the others were started.
  const hasMain = lists.at(-1)?.at(-1)?.role === "main";
  const rootOnly = hasMain && root !== "loop" ? lists.at(-1) : undefined;
  const segments = rootOnly ? lists.slice(0, -1) : lists;

  const bySegment = pair(candidates(native, allLoops), segments, isOpen);
  const unpaired = bySegment === undefined;
  const placed = bySegment ?? new Map([[allLoops[0] ?? LEAF, segments.flat()]]);

  const frames: MergedFrame[] = [];
  const pushPerl = (list: readonly PerlFrame[] | undefined): void => {
    if (!list) return;
    for (const { number } of list) frames.push({ number, native: false, folded: false });
  };
  pushPerl(placed.get(LEAF));
  let index = 0;
  for (const { number, role } of native) {
    if (role === "stop") pushPerl(placed.get(OUTERMOST));
    pushPerl(placed.get(index));
    if (index === outermost && root === "phase") pushPerl(rootOnly);
    const isXsub = index === xsub?.at;
    const folded = isXsub || (role !== "other" && role !== "stop");
    if (isXsub) frames.push({ number: xsub.number, native: false, folded: false });
    frames.push({ number, native: true, folded });
    index++;
  }
  if (!isStopped) pushPerl(placed.get(OUTERMOST));
  if (stop) frames.push({ number: stop.number, native: false, folded: false });
  return { frames, unpaired };
}

/** The places of segments that belong to no run loop. */
const LEAF = -1;
const OUTERMOST = -2;

function splitSegments(perl: readonly PerlFrame[]): Segments {
  let segment: PerlFrame[] = [];
  const lists = [segment];
  let stop: PerlFrame | undefined;
  for (const frame of perl) {
    if (frame.role === "cut") {
      segment = [];
      lists.push(segment);
    } else if (frame.role === "stop") stop = frame;
    else segment.push(frame);
  }
  // A walk that did not end leaves nothing behind its last cut.
  if (segment.length === 0) lists.pop();
  return { lists, stop };
}

/** Says whether the run loop at `index` goes on where the next outer one, at `outer`, was. */
type ContinuationRule = (native: readonly NativeFrame[], index: number, outer: number) => boolean;

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
      native.slice(index + 1, outer).every(({ role }) => role === "interpreter")),
];

/** Indexes of the run loops that C code entered anew, innermost first. */
function freshLoops(
  native: readonly NativeFrame[],
  all: readonly number[],
  isContinuation: ContinuationRule,
): number[] {
  return all.filter((index, i) => !isContinuation(native, index, all[i + 1] ?? Infinity));
}

/**
 * Says what runs in the outermost run loop: the code outside of any sub (`loop`), a sub that the interpreter calls
 * while it starts or ends (`phase`: BEGIN, END, DESTROY), or one that another program calls (`none`).
 */
function ownerOfRoot(native: readonly NativeFrame[], outermost: number): "loop" | "phase" | "none" {
  const [below, next] = native.slice(outermost + 1, outermost + 3);
  if (below?.role === "perl-run") return "loop";
  if (below?.role === "interpreter" && next?.role === "perl-run") return "loop";
  const phases: readonly NativeRole[] = ["perl-run", "perl-parse", "perl-destruct"];
  return native.slice(outermost).some(({ role }) => phases.includes(role)) ? "phase" : "none";
}

/** The fresh run loops under each rule. */
const candidates = (native: readonly NativeFrame[], all: readonly number[]): number[][] =>
  CONTINUATION_RULES.map((rule) => freshLoops(native, all, rule));

/**
 * Places segments by the index of their run loop, or at LEAF or OUTERMOST. Pairs them from the outermost inwards: a
 * call that is about to enter its loop, or has just left it, is the innermost. Where the outer frames are unknown,
 * it pairs from the innermost outwards. Returns undefined if the numbers disagree.
 */
function pair(
  candidates: readonly number[][],
  segments: readonly PerlFrame[][],
  isOpen: boolean,
): Map<number, PerlFrame[]> | undefined {
  const placed = new Map<number, PerlFrame[]>();
  if (isOpen) {
    segments.forEach((segment, i) => {
      const place = candidates[0]?.[i] ?? OUTERMOST;
      placed.set(place, [...(placed.get(place) ?? []), ...segment]);
    });
    return placed;
  }
  const surplusOf = (loops: readonly number[]): number => segments.length - loops.length;
  const loops =
    candidates.find((it) => surplusOf(it) === 0) ??
    candidates.find((it) => Math.abs(surplusOf(it)) === 1);
  if (!loops) return undefined;
  segments.forEach((segment, i) => {
    placed.set(loops[i - surplusOf(loops)] ?? LEAF, segment);
  });
  return placed;
}
