/** Names of JavaScript frames from their strings. */
import { expect, test } from "vitest";
import { INTERPRETER_V8, NAME_LATIN1, NAME_UCS2 } from "../../../build/abi.ts";
import type { NamePart } from "../../../src/addon/drained.ts";
import { javascriptFunction, scriptPath } from "../../../src/runtimes/javascript/names.ts";

const latin = (text: string): NamePart => {
  const bytes = Buffer.from(text, "latin1");
  return { encoding: NAME_LATIN1, length: bytes.length, bytes };
};

function nameOf(own: NamePart, inferred = latin(""), script = latin("/srv/app.js")) {
  const parts = [own, inferred, script];
  return javascriptFunction({ interpreter: INTERPRETER_V8, name: 1n, kind: 0, flags: 0, parts });
}

test("a function's own name, else the one that was inferred, else none", () => {
  expect(nameOf(latin("area"), latin("Shape.area"))).toEqual({
    runtime: "javascript",
    name: "area",
    module: "/srv/app.js",
  });
  expect(nameOf(latin(""), latin("holder.later")).name).toBe("holder.later");
  expect(nameOf(latin("")).name).toBe("(anonymous)");
});

test("strings of two bytes", () => {
  const bytes = Buffer.from("名前", "utf16le");
  expect(nameOf({ encoding: NAME_UCS2, length: bytes.length, bytes }).name).toBe("名前");
});

test("a module's path is that of its URL; what eval() compiled has none", () => {
  expect(scriptPath("file:///srv/a%20b.mjs")).toBe("/srv/a b.mjs");
  expect(scriptPath("node:internal/timers")).toBe("node:internal/timers");
  expect(scriptPath("")).toBe("(eval)");
});

test("what only looks like a URL stays as it is", () => {
  for (const name of ["file://host/a.js", "file:///%ff%00", "file://%"])
    expect(() => scriptPath(name)).not.toThrow();
  expect(scriptPath("file://%")).toBe("file://%");
});
