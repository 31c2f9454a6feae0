/** Names of Python frames from their strings. */
import { expect, test } from "vitest";
import { INTERPRETER_PYTHON, NAME_LATIN1, NAME_UCS2, NAME_UCS4 } from "../../../build/abi.ts";
import type { InterpretedName, NamePart } from "../../../src/addon/drained.ts";
import { pythonFunction } from "../../../src/runtimes/python/reader.ts";

const part = (bytes: Buffer, encoding: number, length = bytes.length): NamePart => ({
  encoding,
  length,
  bytes,
});
const latin = (text: string, length?: number) =>
  part(Buffer.from(text, "latin1"), NAME_LATIN1, length);

function nameOf(name: NamePart, file = latin("/srv/app.py")): { name: string; module: string } {
  const record: InterpretedName = {
    interpreter: INTERPRETER_PYTHON,
    name: 1n,
    kind: 0,
    flags: 0,
    parts: [name, latin(""), file],
  };
  const { name: shown, module } = pythonFunction(record);
  return { name: shown, module };
}

test("a name is qualified, its module the file as Python knows it", () => {
  expect(nameOf(latin("Ledger.post.<locals>.entry"))).toEqual({
    name: "Ledger.post.<locals>.entry",
    module: "/srv/app.py",
  });
  expect(nameOf(latin("<lambda>"), latin("<frozen runpy>")).module).toBe("<frozen runpy>");
});

test("code outside of any function has a name of its own", () => {
  expect(nameOf(latin("<module>")).name).toBe("(module)");
});

test("strings of each width", () => {
  expect(nameOf(latin("größe")).name).toBe("größe");
  expect(nameOf(part(Buffer.from("名前", "utf16le"), NAME_UCS2)).name).toBe("名前");
  const ucs4 = Buffer.alloc(8);
  ucs4.writeUInt32LE(0x1d518, 0);
  ucs4.writeUInt32LE(0x7fffffff, 4);
  expect(nameOf(part(ucs4, NAME_UCS4)).name).toBe("\u{1d518}\ufffd");
});

test("one that was cut says so", () => {
  expect(nameOf(latin("long", 3000)).name).toBe("long…");
});
