/** How many functions are told apart, and what stands for the rest. */
import { expect, test } from "vitest";
import { FunctionTable } from "../../../src/runtimes/function-table.ts";
import { NO_FRAMES } from "../../../src/tick/functions.ts";

const MINUTE = 60_000;

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
  expect(ids.size).toBeLessThan(41_000);
  expect(characters).toBeLessThan(4_200_000);
  // What was known keeps its id; what is new is one function, with a reason.
  expect(table.intern({ runtime: "perl", name: "Ledger::post", module: "ledger.pl" })).toBe(early);
  table.takeAdded();
  const late = table.intern({ runtime: "perl", name: "Ledger::close", module: "ledger.pl" });
  expect(late).toBe(table.intern({ runtime: "perl", name: "Ledger::open", module: "ledger.pl" }));
  const [other] = table.takeAdded();
  expect(other).toMatchObject({ runtime: "perl", name: "[too many functions]" });
});

test("functions that are in no stack any more make room, and come again under the same ids", () => {
  const table = new FunctionTable();
  const named = (index: number) =>
    ({ runtime: "native", name: `made_${index}`, module: "jit" }) as const;
  const ids: number[] = [];
  for (let index = 0; !table.isLarge(MINUTE); index++) ids.push(table.intern(named(index)));
  expect(table.isFull).toBe(false);
  const [kept = 0, gone = 0] = ids;
  const before = table.info(gone);
  const forgotten = table.forget([kept], MINUTE);
  expect(forgotten).toEqual(ids.slice(1));
  expect(table.isLarge(2 * MINUTE)).toBe(false);
  table.takeAdded();
  expect(table.intern(named(0))).toBe(kept);
  expect(table.info(kept)).toMatchObject(named(0));
  expect([table.isKept(kept), table.isKept(gone)]).toEqual([true, false]);
  expect(table.intern(named(1))).toBe(gone);
  expect(table.isKept(gone)).toBe(true);
  const added = table.takeAdded();
  expect(added).toEqual([{ id: gone, ...named(1) }]);
  // Whoever still holds it meets the same one again.
  expect(added[0]).toBe(before);
});

test("functions that cannot be forgotten do not have others forgotten all the time", () => {
  const table = new FunctionTable();
  const all = new Set<number>();
  for (let index = 0; !table.isLarge(MINUTE); index++)
    all.add(table.intern({ runtime: "native", name: `held_${index}`, module: "" }));
  expect(table.forget([...all], MINUTE)).toEqual([]);
  expect(table.isLarge(2 * MINUTE)).toBe(false);
});

test("where ever new functions come fast they are forgotten once a minute, unless they are very many", () => {
  const table = new FunctionTable();
  let index = 0;
  const intern = (count: number): void => {
    for (const end = index + count; index < end; index++)
      table.intern({ runtime: "native", name: `fast_${index}`, module: "" });
  };
  intern(6000);
  expect([table.isLarge(MINUTE - 1), table.isLarge(MINUTE)]).toEqual([false, true]);
  table.forget([], MINUTE);
  intern(6000);
  expect([table.isLarge(2 * MINUTE - 1), table.isLarge(2 * MINUTE)]).toEqual([false, true]);
  intern(10_000);
  expect(table.isLarge(MINUTE + 1)).toBe(true);
});

test("of very many functions that were forgotten, the latest come again under the same ids", () => {
  const table = new FunctionTable();
  const named = (index: number) =>
    ({ runtime: "native", name: `made_${index}`, module: `module_${index}` }) as const;
  const ids = Array.from({ length: 20_001 }, (_, index) => table.intern(named(index)));
  expect(table.forget([], MINUTE)).toEqual(ids);
  expect(table.info(ids[0] ?? 0)).toBe(NO_FRAMES);
  expect(table.intern(named(20_000))).toBe(ids.at(-1));
  expect(ids).not.toContain(table.intern(named(0)));
});

test("of functions with long names fewer come again under the same ids", () => {
  const table = new FunctionTable();
  const named = (index: number) => ({ runtime: "native", name: name(index), module: "" }) as const;
  const ids = Array.from({ length: 8000 }, (_, index) => table.intern(named(index)));
  table.forget([], MINUTE);
  expect(ids).not.toContain(table.intern(named(0)));
  expect(table.intern(named(7999))).toBe(ids.at(-1));
});

test("ever other spellings of a module fill nothing", () => {
  const table = new FunctionTable();
  const named = (index: number) =>
    ({
      runtime: "native",
      name: "main",
      module: `a\u001b[${index}m`.padEnd(200, "\u0007"),
    }) as const;
  const ids = new Set<number>();
  let rounds = 0;
  for (let index = 0; index < 10_000; index++) {
    ids.add(table.intern(named(index % 2)));
    table.intern({ ...named(0), module: `a${"\u0007".repeat(index % 5000)}` });
    if (!table.isLarge(MINUTE * (rounds + 1))) continue;
    table.forget([...ids], MINUTE * ++rounds);
    expect(table.isLarge(MINUTE * (rounds + 1))).toBe(false);
  }
  expect(rounds).toBeGreaterThan(2);
});

test("a function without a name has the reason that was told last", () => {
  const table = new FunctionTable();
  const unnamed = { runtime: "native", name: "libx.so+0x10", module: "libx.so" } as const;
  const id = table.intern({ ...unnamed, whyUnnamed: "not read in time" });
  expect(table.intern({ ...unnamed, whyUnnamed: "not read in time" })).toBe(id);
  expect(table.takeAdded()).toEqual([{ id, ...unnamed, whyUnnamed: "not read in time" }]);
  expect(table.intern({ ...unnamed, whyUnnamed: "no symbol" })).toBe(id);
  expect(table.takeAdded()).toEqual([{ id, ...unnamed, whyUnnamed: "no symbol" }]);
  expect(table.info(id).whyUnnamed).toBe("no symbol");
  table.forget([], MINUTE);
  expect(table.intern({ ...unnamed, whyUnnamed: "written to" })).toBe(id);
  expect(table.takeAdded()).toEqual([{ id, ...unnamed, whyUnnamed: "written to" }]);
});
