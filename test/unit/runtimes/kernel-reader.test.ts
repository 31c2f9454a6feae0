/** Whom the frames of the kernel have their names from. */
import { expect, test } from "vitest";
import type { KernelSymbolColumns } from "../../../src/addon/binding.ts";
import type { Drained } from "../../../src/addon/drained.ts";
import { KernelReader } from "../../../src/runtimes/kernel/reader.ts";
import { NewFrames } from "../../../src/runtimes/new-frames.ts";

const TOLD = [0xffffffff81000010n, 0xffffffffc0000020n, 0xffffffffc0000030n];
const UNTOLD = 0xffffffff81000400n;

/** A reader beside a kernel that tells these texts, and counts how often /proc/kallsyms is read. */
function readerOf(texts: ReadonlyMap<bigint, string>) {
  const asked: bigint[][] = [];
  const reads: string[] = [];
  const columns: KernelSymbolColumns = {
    addresses: Uint32Array.of(0x81000400),
    names: Uint32Array.of(0),
    owners: Uint16Array.of(1),
    paddings: Uint8Array.of(0),
    modules: ["", "kernel"],
    text: Buffer.from("trampoline\n"),
  };
  const reader = new KernelReader(
    {
      readKernelSymbols: (path) => {
        reads.push(path);
        return columns;
      },
    },
    {
      nameKernel: (addresses) => {
        asked.push([...addresses]);
        return Array.from(addresses, (address) => texts.get(address) ?? "");
      },
    },
  );
  const nameAll = (words: readonly bigint[]) => {
    const drained = {
      firstFrame: 1,
      frames: BigUint64Array.from(words),
      extras: new BigUint64Array(words.length),
      owners: new Uint32Array(words.length),
    } as Drained;
    const frames = new NewFrames(drained);
    reader.ingest(drained, frames);
    return words.map((_, index) => {
      const { name, module } = reader.symbolize(frames, index)?.function ?? {};
      return name && `${name} [${module}]`;
    });
  };
  return { nameAll, asked, reads };
}

test("from the kernel itself, all of a drain at once", () => {
  const { nameAll, asked, reads } = readerOf(
    new Map([
      [TOLD[0] ?? 0n, "do_one.isra.0+0x10/0x80"],
      [TOLD[1] ?? 0n, "nf_first+0x20/0x40 [nf_tables]"],
      [TOLD[2] ?? 0n, "bpf_prog_6deef7357e7b4530_a+b+0x0/0x99 [bpf]"],
    ]),
  );
  const native = 0x0003_0000_0000_1000n;
  expect(nameAll([...TOLD, native])).toEqual([
    "do_one.isra.0 [kernel]",
    "nf_first [nf_tables]",
    "bpf_prog_6deef7357e7b4530_a+b [bpf]",
    undefined,
  ]);
  expect(asked).toEqual([[...TOLD]]);
  expect(reads).toEqual([]);
});

test("from /proc/kallsyms where it tells none, or an address", () => {
  for (const text of ["", "0xffffffff81000400"]) {
    const { nameAll, reads } = readerOf(new Map([[UNTOLD, text]]));
    expect(nameAll([UNTOLD])).toEqual(["trampoline [kernel]"]);
    expect(reads).toEqual(["/proc/kallsyms"]);
  }
});

test("each in its own drain", () => {
  const { nameAll } = readerOf(new Map([[TOLD[0] ?? 0n, "first+0x1/0x2"]]));
  expect(nameAll([TOLD[0] ?? 0n])).toEqual(["first [kernel]"]);
  expect(nameAll([UNTOLD])).toEqual(["trampoline [kernel]"]);
});
