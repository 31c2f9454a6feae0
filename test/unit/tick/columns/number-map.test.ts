/** A map of numbers holds what a Map would, whatever is put there and taken out. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { NumberMap } from "../../../../src/tick/columns/number-map.ts";

const KEY = fc.oneof(
  fc.nat(40),
  fc.integer({ min: 2 ** 31 - 20, max: 2 ** 31 + 20 }),
  fc.constantFrom(2 ** 32 - 1, 0x9e3779b1),
);

test("a map of numbers holds what a Map of them holds", () => {
  const step = fc.record({ key: KEY, value: fc.option(fc.nat(2 ** 31 - 2), { nil: undefined }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 900 }), (steps) => {
      const numbers = new NumberMap();
      const expected = new Map<number, number>();
      for (const { key, value } of steps) {
        if (value === undefined) {
          numbers.delete(key);
          expected.delete(key);
        } else {
          numbers.set(key, value);
          expected.set(key, value);
        }
        expect(numbers.get(key)).toBe(value ?? -1);
      }
      expect(numbers.size).toBe(expected.size);
      expect(new Set(new Uint32Array(numbers.keys()))).toEqual(new Set(expected.keys()));
      for (const [key, value] of expected) expect(numbers.get(key)).toBe(value);
      numbers.clear();
      expect([numbers.size, numbers.keys().length]).toEqual([0, 0]);
      for (const key of expected.keys()) expect(numbers.get(key)).toBe(-1);
    }),
  );
});

test("many keys that follow each other come and go", () => {
  const numbers = new NumberMap();
  const count = 100_000;
  for (let key = 0; key < count; key++) {
    numbers.set(key, key);
    if (key >= 1000) numbers.delete(key - 1000);
  }
  expect(numbers.size).toBe(1000);
  expect([...numbers.keys()].sort((a, b) => a - b)[0]).toBe(count - 1000);
  for (let key = count - 2000; key < count; key++) {
    expect(numbers.get(key)).toBe(key < count - 1000 ? -1 : key);
  }
});
