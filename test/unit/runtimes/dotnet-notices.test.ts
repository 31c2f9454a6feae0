/** Runtimes of .NET that are not understood are told of, and only these. */
import { expect, test } from "vitest";
import type { SampledFile, SeenMethod } from "../../../src/addon/drained.ts";
import type { DotnetReader } from "../../../src/runtimes/dotnet/reader.ts";
import { dotnetReader, seenMethod } from "../../support/dotnet-reader.ts";

const WHY =
  "the process ended before it could be asked, or polytop may not read it (CAP_SYS_PTRACE)";

const file = (more: Partial<SampledFile>): SampledFile => ({
  id: 7,
  path: "/opt/\u001b[31m/libcoreclr.so",
  why: "",
  refusal: "",
  assemblies: new Float64Array(),
  ...more,
});

const seen = (pid: number, word: number, name?: string): SeenMethod =>
  seenMethod({
    word: BigInt(word),
    space: BigInt(pid),
    pid,
    name: name === undefined ? undefined : Buffer.from(name),
  });

/** Names of processes in whose memory nothing can be read, after these methods were met. */
function after(methods: readonly SeenMethod[]): DotnetReader {
  const names = dotnetReader({ takeMethods: () => methods });
  names.resolveSeen();
  return names;
}

test("a file with a runtime of no known version, until its number is another file's", () => {
  const names = after([]);
  expect(names.notices()).toEqual([]);
  names.ingest({
    closedFiles: new Uint32Array(),
    files: [file({ refused: ".NET 7 is not supported" })],
  });
  expect(names.notices()).toEqual([
    ".NET 7 is not supported: its methods are not shown (/opt/\\x1b[31m/libcoreclr.so)",
  ]);
  names.ingest({ closedFiles: new Uint32Array(), files: [file({})] });
  expect(names.notices()).toEqual([]);
});

test("a process that lives and none of whose methods could be named", () => {
  const eight = (pid: number) => Array.from({ length: 8 }, (_, at) => seen(pid, 0x10000 + at));
  const own = eight(process.pid);
  expect(after(own.slice(1)).notices()).toEqual([]);
  expect(after(own).notices()).toEqual([
    `no method of pid ${process.pid} could be named: its memory could not be read: ${WHY}`,
  ]);
  expect(after([...own, seen(process.pid, 0x20000, "Made")]).notices()).toEqual([]);
  // Larger than any pid (PID_MAX_LIMIT).
  expect(after(eight(4_194_305)).notices()).toEqual([]);
});

test("not more than fit on the screen", () => {
  const names = after([]);
  names.ingest({
    closedFiles: new Uint32Array(),
    files: [1, 2, 3, 4].map((id) => file({ id, refused: "not supported" })),
  });
  expect(names.notices()).toHaveLength(3);
});
