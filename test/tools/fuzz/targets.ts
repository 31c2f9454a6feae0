/** Parsers of other people's bytes that are written in TypeScript, as functions of such bytes. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { packChunk, prefix, unpackChunk } from "../../../src/recording/chunks.ts";
import { TickDecoder } from "../../../src/recording/decode.ts";
import { TickAssembler } from "../../../src/recording/delta.ts";
import {
  CHUNK_HEADER_BYTES,
  FormatError,
  KIND_HEADER,
  KIND_TICKS,
  PREFIX_BYTES,
} from "../../../src/recording/format.ts";
import { RecordingReader } from "../../../src/recording/reader.ts";
import { PageBudget } from "../../../src/runtimes/dotnet/bytes.ts";
import { ImageNames } from "../../../src/runtimes/dotnet/images.ts";
import { Unreadable } from "../../../src/runtimes/dotnet/memory.ts";
import { Metadata } from "../../../src/runtimes/dotnet/metadata.ts";
import { CodeMap } from "../../../src/runtimes/jit/code-map.ts";
import { UserError } from "../../../src/tick/errors.ts";
import { methodFinder } from "../../support/addon.ts";
import { makeMetadata } from "../../support/metadata.ts";
import { makeImage, NARROW, NOTHING_KEPT, SECTIONS } from "../../support/precompiled.ts";
import { example, HEADER, recordingBytes, ticks } from "../../support/recordings.ts";
import { DEFINITIONS, INSTANCES } from "./dotnet-seeds.ts";

/** A parser to be tried. */
export interface Target {
  readonly name: string;
  readonly about: string;
  /** Files below src/ whose lines it is to reach. */
  readonly sources: readonly string[];
  readonly longest: number;
  /** Honest inputs to begin with. */
  seeds(): Buffer[];
  /** Gives it the bytes; whatever it throws is a finding. */
  tryInput(bytes: Buffer): void;
}

/** A refusal is no finding. */
function refusable(kinds: readonly (new (...args: never[]) => Error)[], work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!kinds.some((kind) => error instanceof kind)) throw error;
  }
}

/** The first byte is the version and whether numbering is renewed; the rest is what a chunk holds, unpacked. */
function readChunkOf(bytes: Buffer): void {
  const version = 1 + ((bytes[0] ?? 0) & 3);
  const decoder = new TickDecoder(version);
  const assembler = new TickAssembler();
  let isRenewed = true;
  for (const part of partsOf(bytes.subarray(1))) {
    for (const delta of decoder.chunk(part, isRenewed)) assembler.assemble(delta);
    isRenewed = ((bytes[0] ?? 0) & 4) !== 0;
  }
}

/** Chunks, each behind its length in two bytes. */
function* partsOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at + 2 <= bytes.length; ) {
    const length = bytes.readUInt16LE(at);
    yield bytes.subarray(at + 2, at + 2 + length);
    at += 2 + length;
  }
}

const folder = mkdtempSync(join(tmpdir(), "polytop-fuzz-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

/** A whole file, as it comes. */
function readFileOf(bytes: Buffer): void {
  const path = join(folder, "recording");
  writeFileSync(path, bytes);
  const reader = new RecordingReader(path);
  try {
    for (const _ of reader.ticks());
  } finally {
    reader.close();
  }
}

const WHOLE_FILE = 0xff;

/** What the chunks of ticks of a recording hold. */
function chunksOf(file: Buffer): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = PREFIX_BYTES; at + CHUNK_HEADER_BYTES <= file.length; ) {
    const header = file.subarray(at, at + CHUNK_HEADER_BYTES);
    const end = at + CHUNK_HEADER_BYTES + header.readUInt32LE(4);
    const { kind, data } = unpackChunk(header, file.subarray(at + CHUNK_HEADER_BYTES, end));
    if (kind === KIND_TICKS) chunks.push(data);
    at = end;
  }
  return chunks;
}

const withLength = (bytes: Buffer): Buffer => {
  const length = Buffer.alloc(2);
  length.writeUInt16LE(Math.min(bytes.length, 0xffff));
  return Buffer.concat([length, bytes.subarray(0, 0xffff)]);
};

const recordings: Target = {
  name: "recordings",
  about: "recordings, whole files and what a chunk holds",
  sources: [
    "recording/decode.ts",
    "recording/reader.ts",
    "recording/chunks.ts",
    "recording/waiting.ts",
    "tick/delta.ts",
  ],
  longest: 4096,
  seeds: () =>
    [example(3), ...fc.sample(ticks, { numRuns: 6, seed: 1 })]
      .map(recordingBytes)
      .flatMap((file) => [
        Buffer.concat([Buffer.from([3]), ...chunksOf(file).map(withLength)]),
        Buffer.concat([Buffer.from([WHOLE_FILE]), file]),
        Buffer.concat([
          Buffer.from([WHOLE_FILE]),
          prefix(),
          packChunk({ kind: KIND_HEADER, flags: 0, data: Buffer.from(JSON.stringify(HEADER)) }),
        ]),
      ]),
  tryInput(bytes) {
    refusable([FormatError, UserError], () => {
      if (bytes[0] === WHOLE_FILE) readFileOf(bytes.subarray(1));
      else readChunkOf(bytes);
    });
  },
};

const NEWLINE = 10;

const perfMaps: Target = {
  name: "perf-maps",
  about: "names of generated code, /tmp/perf-PID.map",
  sources: ["runtimes/jit/code-map.ts", "runtimes/jit/ranges.ts"],
  longest: 2048,
  seeds: () => [
    Buffer.from("7f0000001000 40 LazyCompile:~add /srv/a.js:1\n7f0000001020 10 b\n0x1000 0x20 c\n"),
    Buffer.from(
      Array.from({ length: 40 }, (_, at) => `${(at % 7).toString(16)}00 80 f${at}\n`).join(""),
    ),
  ],
  tryInput(bytes) {
    const map = new CodeMap();
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      map.addLine(bytes, start, end);
      start = end + 1;
      if (end % 3 === 0) map.settle();
    }
    for (let address = 0; address < 0x1000; address += 0x111) map.find(address);
    map.find(0x7f0000001020);
    if (map.memoryBytes > 1 << 20) throw new Error("a small map takes much memory");
  },
};

/** A small precompiled image with these sections. */
const imageOf = (sections: ReadonlyMap<number, Buffer>): Buffer =>
  makeImage(
    sections,
    [{ name: "<Module>" }, { name: "T`1", methods: ["M", "N"], parameters: ["A"] }],
    NARROW,
  );

const numbers = (...values: number[]): Buffer => Buffer.from(Uint32Array.from(values).buffer);

const CODE = 0x200;
const { FUNCTIONS, METHODS, COLD } = SECTIONS;

const METADATA = 0x42; // B of BSJB

const images: Target = {
  name: "images",
  about: ".NET metadata and precompiled methods",
  sources: [
    "runtimes/dotnet/image.ts",
    "runtimes/dotnet/metadata.ts",
    "runtimes/dotnet/metadata-tables.ts",
    "runtimes/dotnet/ready-to-run/image.ts",
    "runtimes/dotnet/ready-to-run/header.ts",
    "runtimes/dotnet/ready-to-run/method-index.ts",
    "runtimes/dotnet/ready-to-run/method-tables.ts",
    "runtimes/dotnet/instance-signature.ts",
  ],
  longest: 4096,
  seeds: () => {
    const functions = numbers(CODE, CODE + 16, 0, CODE + 16, CODE + 32, 0, CODE + 32, CODE + 48, 0);
    return [
      makeMetadata([
        { name: "<Module>" },
        { name: "A", namespace: "B", methods: ["m"] },
        { name: "C`1", outer: 2, parameters: ["T"] },
      ]),
      imageOf(
        new Map([
          [FUNCTIONS, functions],
          [METHODS, DEFINITIONS],
        ]),
      ),
      imageOf(
        new Map([
          [FUNCTIONS, functions],
          [METHODS, DEFINITIONS],
          [SECTIONS.INSTANCES, INSTANCES],
          [COLD, numbers(2, 0)],
        ]),
      ),
    ];
  },
  tryInput(bytes) {
    if (bytes[0] === METADATA) {
      refusable([Unreadable, RangeError], () => {
        const metadata = new Metadata(bytes);
        for (let row = 1; row <= Math.min(metadata.methodCount, 8); row++) metadata.method(row);
        for (let row = 1; row <= 4; row++) metadata.genericParameters("type", row);
      });
      return;
    }
    const names = new ImageNames(
      { readFile: (_file, offset, size) => bytes.subarray(offset, offset + size), ...NOTHING_KEPT },
      methodFinder(),
      new PageBudget(1 << 20),
    );
    const assemblies = Float64Array.of(0, 1e15);
    names.placeFiles([{ id: 1, path: "a.dll", why: "", refusal: "", assemblies }]);
    for (let at = 0; at < 64; at += 16) {
      refusable([Unreadable, RangeError], () => names.method(1, CODE + at));
    }
  },
};

export const TARGETS: readonly Target[] = [recordings, perfMaps, images];
