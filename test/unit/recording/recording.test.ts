/** Recordings: what is written is read, and nothing that is not so is believed. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ByteReader, ByteWriter } from "../../../src/recording/bytes.ts";
import { packChunk, prefix } from "../../../src/recording/chunks.ts";
import { TickDecoder } from "../../../src/recording/decode.ts";
import { TickAssembler } from "../../../src/recording/delta.ts";
import { TickEncoder } from "../../../src/recording/encode.ts";
import {
  FormatError,
  KIND_END,
  KIND_HEADER,
  KIND_TICKS,
  VERSION,
} from "../../../src/recording/format.ts";
import { RecordingReader } from "../../../src/recording/reader.ts";
import { RecordingWriter } from "../../../src/recording/writer.ts";
import { UserError } from "../../../src/tick/errors.ts";
import { FIRST_FUNCTION } from "../../../src/tick/functions.ts";
import { PrefixTree } from "../../../src/tick/prefix-tree.ts";
import type { Tick } from "../../../src/tick/tick.ts";
import {
  example,
  HEADER,
  inFolder,
  plain,
  readRecording,
  recordingBytes,
  ticks,
  writeRecording,
} from "../../support/recordings.ts";
import { makeTick, stackCounts, TickMaker, task } from "../../support/ticks.ts";

/** Reads a file of these bytes; the error where it cannot be opened. */
const readBytes = (bytes: Uint8Array) =>
  inFolder((folder) => {
    const path = join(folder, "r.polytop");
    writeFileSync(path, bytes);
    try {
      return readRecording(path);
    } catch (error) {
      if (error instanceof UserError) return { refused: error.message };
      throw error;
    }
  });

const chunk = (kind: number, data: Buffer | string, flags = 0): Buffer =>
  packChunk({ kind, flags, data: Buffer.from(data) });
const header = (): Buffer => chunk(KIND_HEADER, JSON.stringify(HEADER));

describe("numbers", () => {
  test("are read as they were written", () => {
    const any = fc.oneof(fc.maxSafeNat(), fc.double({ noNaN: true, noDefaultInfinity: true }));
    fc.assert(
      fc.property(fc.array(any), fc.array(fc.maxSafeNat()), (numbers, whole) => {
        const writer = new ByteWriter();
        for (const it of numbers) writer.number(it);
        for (const it of whole) writer.uint(it);
        const reader = new ByteReader(writer.take());
        for (const it of numbers) expect(reader.number()).toBe(it);
        for (const it of whole) expect(reader.uint()).toBe(it);
        expect(reader.isAtEnd).toBe(true);
      }),
    );
  });

  test("that are too large, infinite or cut off are refused", () => {
    const infinite = Buffer.alloc(9);
    infinite[0] = 1;
    infinite.writeDoubleLE(Number.POSITIVE_INFINITY, 1);
    expect(() => new ByteReader(infinite).number()).toThrow(FormatError);
    expect(() => new ByteReader(Buffer.alloc(12, 255)).uint()).toThrow(FormatError);
    expect(() => new ByteReader(Buffer.from([200])).uint()).toThrow(FormatError);
  });
});

test("a tree of stacks finds what was added", () => {
  const path = fc.array(fc.nat(30), { maxLength: 20 });
  fc.assert(
    fc.property(fc.array(path, { maxLength: 200 }), (paths) => {
      const tree = new PrefixTree();
      const add = (frames: readonly number[]): number =>
        frames.reduce((node, frame) => tree.child(node, frame), 0);
      const leaves = paths.map(add);
      const size = tree.size;
      expect(paths.map(add)).toEqual(leaves);
      expect(tree.size).toBe(size);
      for (const [i, frames] of paths.entries()) {
        const back: number[] = [];
        for (let node = leaves[i] ?? 0; node !== 0; node = tree.parentOf(node)) {
          back.push(tree.frameOf(node));
        }
        expect(back.reverse()).toEqual(frames);
      }
    }),
  );
});

describe("a whole recording", () => {
  test("holds what was written", () => {
    const what = fc.constantFrom(
      ["cpu-clock", "samples"],
      ["wait", "nanoseconds"],
      ["allocation", "bytes"],
      ["größe", "widgets"],
    );
    fc.assert(
      fc.property(ticks, what, (made, [event = "", unit = ""]) => {
        const list = made.map((tick) => ({ ...tick, event, unit }));
        const read = readBytes(recordingBytes(list));
        expect(read).toHaveProperty("ticks");
        if (!("ticks" in read)) return;
        expect(read.ticks.map(plain)).toEqual(list.map(plain));
        expect(read.problem === undefined).toBe(list.length > 0);
      }),
      { numRuns: 60 },
    );
  });

  test("shares equal functions and stacks, also when numbering begins anew", () => {
    const [first, second] = [example(2), example(2)];
    const decoder = new TickDecoder(VERSION);
    const assembler = new TickAssembler();
    const read = [first, second].flatMap((list) => {
      const encoder = new TickEncoder();
      for (const tick of list) encoder.add(tick);
      const { bytes, isRenewed } = encoder.take();
      expect(isRenewed).toBe(true);
      return Array.from(decoder.chunk(bytes, isRenewed), (delta) => assembler.assemble(delta));
    });
    const functions = read.map((tick) => stackCounts(tick)[0]?.stack.frames[0]?.function);
    expect(functions[0]?.name).toBe("Ledger::Post::entry");
    expect(new Set(functions).size).toBe(1);
    // The stack of both ticks is the same one of the same store.
    expect(read[0]?.store).toBe(read[1]?.store);
    expect(read[0]?.counts.stacks[0]).toBe(read[1]?.counts.stacks[0]);
    expect(read[2]?.store).not.toBe(read[0]?.store);
    expect(read[2]?.store).toBe(read[3]?.store);
  });

  test("numbers functions in the order of their ids", () => {
    const make = new TickMaker();
    const [a, b] = [make.stack(["n:first of two"]), make.stack(["n:second of two"])];
    const counts = [b, a].map((stack) => ({ stack, task: task(1, "x"), count: 1 }));
    const read = readBytes(recordingBytes([makeTick(counts)]));
    const found = "ticks" in read ? stackCounts(...read.ticks) : [];
    expect(found.map(({ stack }) => stack.frames[0]?.function)).toMatchObject([
      { id: FIRST_FUNCTION + 1, name: "second of two" },
      { id: FIRST_FUNCTION, name: "first of two" },
    ]);
  });

  test("tells machine and counters", () => {
    inFolder((folder) => {
      writeRecording(join(folder, "a"), example(1));
      const reader = new RecordingReader(join(folder, "a"));
      expect(reader.header).toEqual(HEADER);
      reader.close();
    });
  });

  test("is written every four seconds", () => {
    inFolder((folder) => {
      const path = join(folder, "a");
      const writer = new RecordingWriter(path, HEADER, { replace: false });
      for (const tick of example(9)) writer.add(tick);
      // Killed here: nothing was ended or closed.
      const { ticks: found, problem } = readRecording(path);
      expect(found).toHaveLength(8);
      expect(problem).toMatch(/cut off at byte \d+: shown up to there$/);
      writer.end();
      expect(readRecording(path)).toMatchObject({ problem: undefined });
      expect(readRecording(path).ticks).toHaveLength(9);
    });
  });
});

describe("a recording that was cut off", () => {
  const list = example(13);
  const whole = recordingBytes(list);

  test("anywhere opens up to there and says so", () => {
    const counts = new Set<number>();
    for (let length = 0; length < whole.length; length++) {
      const read = readBytes(whole.subarray(0, length));
      if ("refused" in read) {
        expect(read.refused).toMatch(/cut off before its first refresh$|is empty$/);
        continue;
      }
      counts.add(read.ticks.length);
      const place =
        read.ticks.length > 0 ? /at byte \d+: shown up to there$/ : /before its first refresh$/;
      expect(read.problem).toMatch(place);
      expect(read.ticks.map(plain)).toEqual(list.slice(0, read.ticks.length).map(plain));
    }
    expect([...counts]).toEqual([0, 4, 8, 12, 13]);
  });

  test("opens with any bit flipped, or says why not, and shows nothing that is wrong", () => {
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.nat(7), (at, bit) => {
        const bytes = Buffer.from(whole);
        bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
        const read = readBytes(bytes);
        if ("refused" in read) return;
        expect(read.problem).toMatch(/damaged|cut off/);
        expect(read.ticks.map(plain)).toEqual(list.slice(0, read.ticks.length).map(plain));
      }),
      { numRuns: 500 },
    );
  });
});

describe("what is no recording", () => {
  const refusal = (bytes: Uint8Array): string => {
    const read = readBytes(bytes);
    return "refused" in read ? read.refused.replace(/^\S+/, "FILE") : "opened";
  };

  test.each([
    ["nothing", Buffer.alloc(0), "FILE is empty"],
    ["a text", Buffer.from("# polytop\n"), "FILE is no recording of polytop"],
    ["another binary", Buffer.alloc(64, 0x89), "FILE is no recording of polytop"],
    [
      "a newer version",
      Buffer.concat([prefix(VERSION + 1), header()]),
      "FILE is a recording of format 8; this polytop reads formats up to 7: use a newer one",
    ],
    [
      "one that a transfer as text has changed",
      Buffer.from(prefix().toString("latin1").replace("\r\n", "\n"), "latin1"),
      "FILE is no recording of polytop",
    ],
    [
      "no header",
      Buffer.concat([prefix(), chunk(KIND_END, "{}")]),
      "FILE is damaged: it has no header",
    ],
    [
      "a header that is no JSON",
      Buffer.concat([prefix(), chunk(KIND_HEADER, "{")]),
      "FILE is damaged: its header is no JSON",
    ],
  ])("%s", (_, bytes, message) => {
    expect(refusal(bytes)).toBe(message);
  });

  test("a folder, a pipe, a file that is not there", () => {
    inFolder((folder) => {
      const open = (path: string) => () => new RecordingReader(path);
      expect(open(folder)).toThrow("is no regular file");
      expect(open("/dev/null")).toThrow("is no regular file");
      expect(open(join(folder, "x"))).toThrow(`there is no file ${folder}/x`);
    });
  });
});

describe("a hostile recording", () => {
  const withTicks = (data: Buffer, flags = 1) =>
    readBytes(Buffer.concat([prefix(), header(), chunk(KIND_TICKS, data, flags)]));
  const problemOf = (data: Buffer, flags = 1): string => {
    const read = withTicks(data, flags);
    return "ticks" in read ? (read.problem ?? "") : read.refused;
  };

  test("does not unpack more than it announced", () => {
    const bomb = deflateSync(Buffer.alloc(64 << 20));
    const small = chunk(KIND_TICKS, Buffer.alloc(100), 1);
    const packed = Buffer.concat([small.subarray(0, 16), bomb]);
    packed.writeUInt32LE(bomb.length, 4);
    const read = readBytes(Buffer.concat([prefix(), header(), packed]));
    expect(read).toMatchObject({ ticks: [], problem: expect.stringContaining("damaged") });
  });

  test("does not make room for what is not there", () => {
    const large = chunk(KIND_TICKS, Buffer.alloc(100), 1);
    large.writeUInt32LE(0xffffffff, 4);
    expect(readBytes(Buffer.concat([prefix(), header(), large]))).toMatchObject({
      problem: expect.stringContaining("larger than any may be"),
    });
    const list = new ByteWriter();
    list.uint(2 ** 40);
    expect(problemOf(list.take())).toContain("too many");
  });

  test("refers to nothing that is not there", () => {
    const encoder = new TickEncoder();
    for (const tick of example(2)) encoder.add(tick);
    expect(problemOf(encoder.take().bytes, 0)).toContain("the first ticks refer to others");
  });

  test("has no stack of endless depth", () => {
    const make = new TickMaker();
    const frames = Array.from({ length: 5000 }, () => "n:f");
    const stack = make.stack(frames);
    const encoder = new TickEncoder();
    encoder.add(makeTick([{ stack, task: task(1, "x"), count: 1 }]));
    expect(problemOf(encoder.take().bytes)).toContain("too deep");
  });

  test("has clean names, whatever it says", () => {
    const make = new TickMaker();
    const stack = make.stack(["n:\u001b[2Jx\n"]);
    const tick = makeTick([{ stack, task: task(1, "\u009b"), count: 1 }], {
      host: "\u001b]0;x\u0007",
      notices: ["\u001b[31m"],
    });
    const read = withTicks(encoded([tick]));
    expect(JSON.stringify(read)).not.toMatch(/\\u00|\p{Cc}/u);
    expect(read).toMatchObject({ ticks: [{ host: "\\x1b]0;x\\x07" }] });
  });

  test("ends in a message, whatever its bytes are", () => {
    const bytes = encoded(example(3));
    const change = fc.record({ at: fc.nat(bytes.length - 1), to: fc.nat(255) });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
        const hostile = Buffer.from(bytes);
        for (const { at, to } of changes) hostile[at] = to;
        const read = withTicks(hostile);
        expect(read).toHaveProperty("ticks");
        // What was accepted can be shown.
        if ("ticks" in read) for (const tick of read.ticks) new Date(tick.time).toISOString();
      }),
      { numRuns: 1000 },
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (any) => {
        expect(withTicks(Buffer.from(any))).toHaveProperty("problem");
      }),
    );
  });

  test("may hold chunks that are not known yet", () => {
    const read = readBytes(
      Buffer.concat([
        prefix(),
        header(),
        chunk(77, "later"),
        chunk(KIND_TICKS, encoded(example(1)), 1),
        chunk(KIND_END, "{}"),
      ]),
    );
    expect(read).toMatchObject({ ticks: [{}], problem: undefined });
  });

  function encoded(list: readonly Tick[]): Buffer {
    const encoder = new TickEncoder();
    for (const tick of list) encoder.add(tick);
    return encoder.take().bytes;
  }
});
