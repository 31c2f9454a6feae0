/** Columns of numbers: what was put there is there, also when it is compressed, and nothing that was forgotten. */
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ArchivedNumbers } from "../../../../src/tick/columns/archived-numbers.ts";
import { Numbers } from "../../../../src/tick/columns/numbers.ts";
import { SlidingColumn } from "../../../../src/tick/columns/sliding-column.ts";

const UINT32 = 2 ** 32 - 1;

test("numbers in the archive are those that were put there, in less room", async () => {
  const values = Uint32Array.from({ length: 50_000 }, (_, i) => (i % 30) + (i % 7) * 70_000);
  const archived = new ArchivedNumbers(values);
  expect(archived.values()).toEqual(values);
  await expect.poll(() => archived.bytes).toBeLessThan(values.byteLength / 4);
  expect(archived.values()).toEqual(values);
});

test("a column holds what was added, before, while and after it is compressed", async () => {
  const part = fc.oneof(
    fc.nat(UINT32),
    fc.array(fc.nat(UINT32), { maxLength: 700 }).map((list) => Uint32Array.from(list)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 12 }), async (parts) => {
      const numbers = new Numbers();
      for (const one of parts) {
        if (typeof one === "number") numbers.push(one);
        else numbers.append(one);
      }
      const expected = parts.flatMap((one) => (typeof one === "number" ? [one] : [...one]));
      const check = (): void => {
        expect(numbers.length).toBe(expected.length);
        expect([...numbers.values.subarray(0, numbers.length)]).toEqual(expected);
        expected.forEach((value, i) => {
          if (numbers.at(i) !== value) expect(numbers.at(i)).toBe(value);
        });
        expect(numbers.at(expected.length)).toBe(0);
      };
      check();
      numbers.archive();
      numbers.archive();
      check();
      for (let i = 0; i < 5; i++) await setImmediate();
      check();
      expect(() => numbers.push(1)).toThrow("final");
    }),
  );
});

test("a compressed column takes less room, and says so", async () => {
  const numbers = new Numbers();
  for (let i = 0; i < 50_000; i++) numbers.push(i % 30);
  const before = numbers.bytes;
  expect(before).toBeGreaterThanOrEqual(200_000);
  numbers.archive();
  await expect.poll(() => numbers.bytes).toBeLessThan(before / 10);
  expect([numbers.at(0), numbers.at(49_999), numbers.length]).toEqual([0, 49_999 % 30, 50_000]);
});

test("a sliding column knows the keys that were not forgotten", () => {
  const step = fc.oneof(
    fc.record({ skip: fc.nat(300), value: fc.nat(UINT32) }),
    fc.record({ back: fc.nat(50), value: fc.nat(UINT32) }),
    fc.record({ forget: fc.nat(400) }),
    fc.constant("clear" as const),
  );
  fc.assert(
    fc.property(fc.nat(5000), fc.array(step, { maxLength: 60 }), (start, steps) => {
      const column = new SlidingColumn();
      const kept = new Map<number, number>();
      let [first, next] = [start, start];
      for (const one of steps) {
        if (one === "clear") {
          column.clear();
          for (const key of kept.keys()) kept.set(key, 0);
        } else if ("skip" in one) {
          // Keys between are there, too.
          if (kept.size > 0) for (let i = 0; i < one.skip; i++) kept.set(next + i, 0);
          next += one.skip;
          if (kept.size === 0) first = next;
          column.set(next, one.value);
          kept.set(next++, one.value);
        } else if ("back" in one) {
          const key = next - 1 - one.back;
          if (kept.size === 0 || key < first) continue;
          column.set(key, one.value);
          kept.set(key, one.value);
        } else {
          const below = first + one.forget;
          expect(column.holdsBelow(below)).toBe([...kept.keys()].some((key) => key < below));
          column.forgetBelow(below);
          for (const key of kept.keys()) if (key < below) kept.delete(key);
          first = Math.min(below, next);
        }
        for (let key = Math.max(0, first - 20); key < next + 20; key++) {
          const found = column.get(key);
          if (found !== (kept.get(key) ?? 0)) expect([key, found]).toEqual([key, kept.get(key)]);
        }
      }
    }),
  );
});
