/**
 * Puts the Python frames of a stack between its native frames. Everything here is pure.
 *
 * The kernel side sends the frames of each evaluation (_PyEval_EvalFrameDefault) together, and says which native frame
 * that is: it knows where each of them lies on the stack. Where it does not know, as in 3.9, evaluations are counted
 * from the outermost inwards. An evaluation that has just begun or is about to end has no frame: it is the innermost.
 * Facts: CPython 3.9 to 3.14, ceval.c.
 */
import type { MergedFrames } from "../merged-frames.ts";

/** What a native frame is to the interpreter. */
export type NativeRole =
  | "evaluation"
  /** Any other code of the interpreter's file. */
  | "interpreter"
  | "other"
  /** Why the native walk ended: there are more frames, and nobody knows which. */
  | "stop";

export interface NativeFrame {
  readonly number: number;
  readonly role: NativeRole;
}

/** One word of the Python part of a stack; see enum python_kind. `place` is an index of a native frame and 1, or 0. */
export interface PythonWord {
  readonly number: number;
  readonly role: "frame" | "call" | "evaluation" | "place" | "stop";
  readonly place: number;
}

/** The frames of one evaluation, innermost first. */
interface Segment {
  readonly frames: number[];
  /** Index of its native frame; undefined where it is not known. */
  at: number | undefined;
}

/**
 * Merges the two lists of a stack into one, all leaf first; `truncated`: the native walk hit its limit. Returns whether
 * some evaluations were not found among the native frames of a whole stack: their frames stand where they may.
 */
export function interleave(
  native: readonly NativeFrame[],
  python: readonly PythonWord[],
  into: MergedFrames,
  truncated = false,
): boolean {
  const { segments, stop } = split(python);
  const isStopped = native.some(({ role }) => role === "stop");
  const isOpen = truncated || isStopped;
  const isLost = placeByNumber(segments, native, isOpen);
  const unpaired = isLost && !isOpen && stop.length === 0;
  const hidesNative = segments.length > 0;
  const push = (numbers: readonly number[]): void => {
    for (const number of numbers) into.push(number);
  };
  const places = new Map<number, number[]>();
  for (const { at, frames: own } of segments) {
    const place = Math.min(at ?? native.length, native.length);
    const inner = places.get(place);
    places.set(place, inner ? [...inner, ...own] : own);
  }
  // Frames of which nothing is known are further out than all that is known.
  const outermost = places.get(native.length) ?? [];
  let index = 0;
  for (const { number, role } of native) {
    const own = places.get(index++);
    if (own) push(own);
    if (role === "stop") push(outermost);
    into.pushNative(number, hidesNative && (role === "evaluation" || role === "interpreter"));
  }
  if (!isStopped) push(outermost);
  push(stop);
  return unpaired;
}

function split(python: readonly PythonWord[]): { segments: Segment[]; stop: number[] } {
  const segments: Segment[] = [];
  const places: (number | undefined)[] = [];
  const stop: number[] = [];
  const indexOf = (place: number): number | undefined => (place === 0 ? undefined : place - 1);
  let frames: number[] = [];
  for (const { number, role, place } of python) {
    if (role === "frame") frames.push(number);
    else if (role === "call") segments.push({ frames: [number], at: undefined });
    else if (role === "place") places.push(indexOf(place));
    else if (role === "stop") stop.push(number);
    else {
      segments.push({ frames, at: indexOf(place) });
      frames = [];
    }
  }
  // The walk did not come to the end of this evaluation.
  if (frames.length > 0) segments.push({ frames, at: undefined });
  const surplus = segments.length - places.length;
  if (places.length > 0) {
    segments.forEach((segment, i) => {
      segment.at = places[i - surplus];
    });
  }
  return { segments, stop };
}

/**
 * Finds the native frames of segments without one by their number, between the neighbours that have one. Returns
 * whether there were some that it could not find, or that only a guess could.
 */
function placeByNumber(
  segments: readonly Segment[],
  native: readonly NativeFrame[],
  isOpen: boolean,
): boolean {
  let isLost = false;
  for (let first = 0; first < segments.length; ) {
    if (segments[first]?.at !== undefined) {
      first++;
      continue;
    }
    let end = first;
    while (end < segments.length && segments[end]?.at === undefined) end++;
    const inner = segments[first - 1]?.at ?? -1;
    const outer = segments[end]?.at;
    const evaluations = native.flatMap(({ role }, index) =>
      role === "evaluation" && index > inner && index < (outer ?? native.length) ? [index] : [],
    );
    const group = segments.slice(first, end);
    const surplus = evaluations.length - group.length;
    // Only the innermost evaluation of all has no frame.
    const fits = surplus === 0 || (surplus === 1 && first === 0);
    if (fits && !(isOpen && outer === undefined)) {
      for (const [i, segment] of group.entries()) segment.at = evaluations[i + surplus];
    } else if (isOpen && outer === undefined) {
      for (const [i, segment] of group.entries()) segment.at = evaluations[i];
    } else {
      isLost = true;
      for (const segment of group) segment.at = outer ?? evaluations[0];
    }
    first = end;
  }
  return isLost;
}
