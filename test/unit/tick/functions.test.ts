/** Functions that come, go for lack of anybody who refers to them, and come again. */

import { expect, test } from "vitest";
import { FIRST_FUNCTION, Functions, NO_FRAMES } from "../../../src/tick/functions.ts";
import { PLACES } from "../../../src/tick/runtimes.ts";
import type { FunctionInfo, Tick } from "../../../src/tick/tick.ts";
import { TickWriter } from "../../../src/tick/tick-writer.ts";
import { makeTick, stackCounts, task } from "../../support/ticks.ts";

const info = (id: number, name: string, runtime: FunctionInfo["runtime"] = "native") =>
  ({ id: FIRST_FUNCTION + id, runtime, name, module: "program" }) as const;

const used = (functions: Functions, ...places: readonly number[]): Uint8Array => {
  const marks = new Uint8Array(functions.length);
  for (const place of places) marks[place] = 1;
  return marks;
};

test("the place of a function that is forgotten is given to another, and no earlier", () => {
  const functions = new Functions();
  const [gone, stays] = [info(0, "gone"), info(1, "stays")];
  functions.append([gone, stays]);
  const [first, second] = [functions.placeOf(gone.id), functions.placeOf(stays.id)];
  functions.leave([gone.id, stays.id]);
  functions.forget(used(functions, first, second));
  expect([functions.info(first), functions.info(second)]).toEqual([gone, stays]);
  expect(functions.hasLeaving).toBe(true);
  functions.forget(used(functions, second));
  expect(functions.info(first)).toBe(NO_FRAMES);
  expect(functions.placeOf(gone.id)).toBe(NO_FRAMES.id);
  expect(functions.info(second)).toBe(stays);
  const { length } = functions;
  const other = info(2, "other", "perl");
  functions.append([other]);
  expect(functions.length).toBe(length);
  expect(functions.placeOf(other.id)).toBe(first);
  expect(functions.info(first)).toBe(other);
  expect(functions.runtimes[first]).toBe(PLACES.perl);
});

test("a function that comes again is the same one in stores that still refer to it, and new where none does", () => {
  const functions = new Functions();
  const [inStore, outside] = [info(0, "in a store"), info(1, "in a sum")];
  functions.append([inStore, outside]);
  const place = functions.placeOf(inStore.id);
  functions.leave([inStore.id, outside.id]);
  functions.forget(used(functions, place));
  functions.append([inStore, outside]);
  expect(functions.placeOf(inStore.id)).toBe(place);
  expect(functions.info(place)).toBe(inStore);
  expect(functions.info(functions.placeOf(outside.id))).toBe(outside);
  expect(functions.hasLeaving).toBe(false);
  // They can leave again.
  functions.leave([inStore.id, outside.id]);
  functions.forget(used(functions));
  expect(functions.hasLeaving).toBe(false);
  expect(functions.info(place)).toBe(NO_FRAMES);
  functions.append([inStore]);
  expect(functions.info(functions.placeOf(inStore.id))).toBe(inStore);
});

test("the stand-ins of every source never leave", () => {
  const functions = new Functions();
  functions.leave([NO_FRAMES.id]);
  expect(functions.hasLeaving).toBe(false);
});

test("ticks from before functions were forgotten say what they said", () => {
  const { counts: _counts, store: _store, ...header } = makeTick([]);
  const writer = new TickWriter();
  const count = (...ids: readonly number[]): void => {
    const frames = ids.map((id) => writer.frame(FIRST_FUNCTION + id));
    writer.count(writer.stack(frames, 0), writer.task(task(1, "worker")), 1);
  };
  const functionsOf = (tick: Tick) =>
    stackCounts(tick).flatMap(({ stack }) => stack.frames.map((frame) => frame.function));
  const [again, gone] = [info(0, "again"), info(1, "gone")];
  writer.addFunctions([again, gone]);
  count(0, 1);
  const before = writer.take(header);
  writer.renew([FIRST_FUNCTION, FIRST_FUNCTION + 1]);
  writer.addFunctions([again, info(3, "new")]);
  count(0, 3);
  const after = writer.take(header);
  expect(after.store).not.toBe(before.store);
  expect(functionsOf(before)).toEqual([again, gone]);
  expect(functionsOf(after)[0]).toBe(again);
  expect(functionsOf(after)[1]).toEqual(info(3, "new"));
});
