/** How many functions are told apart, and what stands for the rest. */
import { expect, test } from "vitest";
import { FunctionTable } from "../../../src/runtimes/function-table.ts";

const name = (index: number): string => `${index}`.padEnd(300, "x");

test("a process with ever new functions does not fill the memory", { timeout: 20_000 }, () => {
  const table = new FunctionTable();
  const early = table.intern({ runtime: "perl", name: "Ledger::post", module: "ledger.pl" });
  let characters = 0;
  const ids = new Set<number>();
  for (let index = 0; index < 500_000; index++) {
    ids.add(table.intern({ runtime: "native", name: name(index), module: "hog" }));
    if (index % 1000 === 0) for (const added of table.takeAdded()) characters += added.name.length;
  }
  expect(table.isFull).toBe(true);
  expect(ids.size).toBeLessThan(310_000);
  expect(characters).toBeLessThan(32_000_000);
  // What was known keeps its id; what is new is one function, with a reason.
  expect(table.intern({ runtime: "perl", name: "Ledger::post", module: "ledger.pl" })).toBe(early);
  table.takeAdded();
  const late = table.intern({ runtime: "perl", name: "Ledger::close", module: "ledger.pl" });
  expect(late).toBe(table.intern({ runtime: "perl", name: "Ledger::open", module: "ledger.pl" }));
  const [other] = table.takeAdded();
  expect(other).toMatchObject({ runtime: "perl", name: "[too many functions]" });
});
