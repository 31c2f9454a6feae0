/** Functions of files by what the addon says of their code: a name, or why there is none. */
import { expect, test } from "vitest";
import type { Drained, SampledFile } from "../../../src/addon/drained.ts";
import type { UnnamedFunction } from "../../../src/addon/sampler.ts";
import { NativeReader } from "../../../src/runtimes/native/reader.ts";

const FILE: SampledFile = {
  id: 1,
  path: "/usr/lib/libx.so",
  why: "",
  refusal: "",
  assemblies: new Float64Array(),
};

/** How code of a file is named of which the addon says this. */
function named(said: string | UnnamedFunction) {
  const reader = new NativeReader({ name: () => said });
  reader.ingest({ files: [FILE] } as unknown as Drained);
  return reader.symbolizeCode(1, 0x1234);
}

test("a symbol is the name", () => {
  expect(named("work")).toEqual({ runtime: "native", name: "work", module: "libx.so" });
});

test("the place stands for a name that there is not, and for one that was not read", () => {
  const place = { runtime: "native", name: "libx.so+0x1000", module: "libx.so" };
  const none = named({ address: 0x1000, end: 0, why: "" });
  expect(none).toMatchObject(place);
  expect(none.whyUnnamed).toMatch(/^the file has no symbol for it; /);
  const late = named({ address: 0x1000, end: 0, why: "its name was not read in time" });
  expect(late).toMatchObject(place);
  expect(late.whyUnnamed).toMatch(/^its name was not read in time; /);
});

test("code that may be several functions is a range", () => {
  const range = named({ address: 0x1000, end: 0x2500, why: "" });
  expect(range).toMatchObject({ name: "libx.so+0x1000-0x2500", module: "libx.so" });
  expect(range.whyUnnamed).toMatch(/^the file has neither a symbol nor an unwind entry for it; /);
});

test("where there is no place either, the reason is the addon's", () => {
  expect(named({ address: 0, end: 0, why: "" }).whyUnnamed).toContain(
    "neither a symbol nor an unwind entry",
  );
  expect(named({ address: 0, end: 0, why: "the file was changed" })).toMatchObject({
    name: "[libx.so]",
    whyUnnamed: "the file was changed",
  });
});
