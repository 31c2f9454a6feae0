/** What is told of files that hold an interpreter. */
import { expect, test } from "vitest";
import { INTERPRETER_V8 } from "../../../build/abi.ts";
import type { SampledFile } from "../../../src/addon/drained.ts";
import { InterpreterFiles } from "../../../src/runtimes/interpreter-files.ts";

const fileOf = (id: number, path: string, warning: string): SampledFile => ({
  id,
  path,
  why: "",
  refusal: "",
  assemblies: new Float64Array(),
  interpreter: { kind: INTERPRETER_V8, warning },
});

test("an interpreter that is refused is told of once, and polytop's own is not", () => {
  const files = new InterpreterFiles(INTERPRETER_V8);
  files.ingest({
    files: [fileOf(1, "/opt/app/node", "unknown"), fileOf(2, process.execPath, "no symbols")],
  });
  expect(files.takeWarnings()).toEqual(["unknown"]);
  expect(files.takeWarnings()).toEqual([]);
});
