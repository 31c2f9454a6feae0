/** Names in the cells of a flame: what says where one is stays. */
import { expect, test } from "vitest";
import { fittingName } from "../../../src/screen/views/flame.ts";
import { UNICODE_GLYPHS } from "../../../src/text/format.ts";
import type { Runtime } from "../../../src/tick/runtimes.ts";

test.each<[string, Runtime, number, string]>([
  ["liblzma.so.5.4.1+0xb070", "native", 30, "liblzma.so.5.4.1+0xb070"],
  ["liblzma.so.5.4.1+0xb070", "native", 15, "liblzma.so.5.4…"],
  ["libc.so.6+0x29f40", "native", 12, "libc.so.6+0…"],
  ["cc1plus+0x5e210", "native", 9, "cc1plus+…"],
  ["scan.constprop.0", "native", 9, "scan.con…"],
  ["std::vector<a::b>::push_back", "native", 12, "vector<a::b…"],
  ["Shop.Cart.Total", "dotnet", 10, "Cart.Total"],
  ["Ledger::Post::entry", "perl", 11, "Post::entry"],
  ["module.Class.method", "python", 12, "Class.method"],
])("%s of %s in %d cells is %s", (name, runtime, room, expected) => {
  expect(fittingName(name, runtime, room, UNICODE_GLYPHS)).toBe(expected);
});
