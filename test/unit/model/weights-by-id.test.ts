/** Weights by id: a complete set says what it said while it grew. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { WeightsById } from "../../../src/model/weights-by-id.ts";

const additions = fc.array(
  fc.tuple(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.integer({ min: 1, max: 1000 })),
);

test("a complete set has the same weights as before, and takes no more", () => {
  fc.assert(
    fc.property(additions, fc.integer({ min: 0, max: 2 ** 32 - 1 }), (added, other) => {
      const weights = new WeightsById();
      for (const [id, weight] of added) weights.add(id, weight);
      const ids = [...added.map(([id]) => id), other];
      const before = ids.map((id) => weights.of(id));
      weights.complete();
      expect(ids.map((id) => weights.of(id))).toEqual(before);
      expect(() => weights.add(1, 1)).toThrow("final");
    }),
  );
});
