/** bpf/counters.json: numbers that people's dashboards rely on. */
import { expect, test } from "vitest";
import { counters } from "../../../bpf/counters.json" with { type: "json" };

const KINDS = ["attempt", "frames", "complete", "guessed", "truncated", "error", "loss"];
/** Every CPU keeps a sum for each id up to the highest (bpf/totals.h): ids are not to lie far apart. */
const END_OF_IDS = 256;

test("ids are unique and ascend", () => {
  const ids = counters.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
  expect(Math.min(...ids)).toBeGreaterThan(0);
  expect(Math.max(...ids)).toBeLessThan(END_OF_IDS);
});

test("names are unique and made of words", () => {
  const names = counters.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => !/^([A-Z][a-z0-9]*|TSD|EGV|CFA)+$/.test(name))).toEqual([]);
});

test("each says what it means, and an error has the label that ends its stacks", () => {
  for (const counter of counters) {
    expect(KINDS, counter.name).toContain(counter.kind);
    expect(counter.meaning, counter.name).not.toBe("");
    expect("label" in counter && counter.label !== "", counter.name).toBe(counter.kind === "error");
  }
});

test("labels are unique", () => {
  const labels = counters.flatMap((counter) => ("label" in counter ? [counter.label] : []));
  expect(new Set(labels).size).toBe(labels.length);
});
