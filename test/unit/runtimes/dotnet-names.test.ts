/** Names of .NET methods out of recorded memory, against what each runtime calls them itself. */
import { expect, test } from "vitest";
import { layoutOf } from "../../../src/runtimes/dotnet/layout.ts";
import { ProcessMemory, Unreadable } from "../../../src/runtimes/dotnet/memory.ts";
import { DotnetProcess } from "../../../src/runtimes/dotnet/process.ts";
import { parsePerfName } from "../../support/dotnet.ts";
import {
  noCache,
  type Recording,
  readRecording,
  recordedMemory,
} from "../../support/dotnet-recording.ts";

const VERSIONS = [8, 9, 10, 11];

function processOf(recording: Recording, memory = recordedMemory(recording)): DotnetProcess {
  const { bias } = recording;
  return new DotnetProcess(new ProcessMemory(memory, 1), recording, bias, noCache());
}

test.each(VERSIONS)(".NET %i: methods are named as the runtime names them", (major) => {
  const recording = readRecording(major);
  const process = processOf(recording);
  expect(recording.methods.length).toBeGreaterThan(8);
  for (const { start, methodDesc, name, module } of recording.methods) {
    expect(process.method(start, methodDesc)).toEqual({ name, module });
    expect(process.methodAt(start)).toEqual({ name, module });
  }
});

test.each(VERSIONS)(".NET %i: a MethodDesc that is no more the code's is refused", (major) => {
  const recording = readRecording(major);
  const [first, second] = recording.methods.filter(
    (it, at, all) => all.findIndex((other) => other.methodDesc === it.methodDesc) === at,
  );
  if (!first || !second) throw new Error("the recording has too few methods");
  expect(() => processOf(recording).method(first.start, second.methodDesc)).toThrow(Unreadable);
});

test.each(VERSIONS)(
  ".NET %i: no damage to what is read makes anything but a reason or a name",
  (major) => {
    const recording = readRecording(major);
    const whole = recordedMemory(recording);
    let state = major;
    const random = (limit: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return (state >>> 8) % limit;
    };
    let refused = 0;
    for (let round = 0; round < 300; round++) {
      const damaged = processOf(recording, (pid, address, size) => {
        const bytes = Buffer.from(whole(pid, address, size));
        if (bytes.length > 0 && random(3) === 0) bytes[random(bytes.length)] = random(256);
        return random(40) === 0 ? bytes.subarray(0, random(bytes.length + 1)) : bytes;
      });
      const method = recording.methods[round % recording.methods.length];
      if (!method) continue;
      try {
        expect(typeof damaged.method(method.start, method.methodDesc).name).toBe("string");
      } catch (error) {
        refused++;
        expect(error instanceof Unreadable || error instanceof RangeError).toBe(true);
      }
    }
    expect(refused).toBeGreaterThan(30);
  },
);

test("a version that nobody has tried is named where the runtime and the metadata say the same", () => {
  const recording = { ...readRecording(11), major: 12 };
  const named = processOf(recording);
  for (const { start, methodDesc, name, module } of recording.methods)
    expect(named.method(start, methodDesc)).toEqual({ name, module });
  expect(named.news).toBe(
    ".NET 12 is newer than what was tried (11): its layout was checked against itself",
  );
  const whole = recordedMemory(recording);
  const shifted = processOf(recording, (pid, address, size) => {
    const bytes = Buffer.from(whole(pid, address, size));
    // Another type of the same module: what a field that has moved would lead to.
    if (size === 4) bytes.writeUInt32LE((bytes.readUInt32LE(0) + 256) >>> 0);
    return bytes;
  });
  for (const { start, methodDesc } of recording.methods)
    expect(() => shifted.method(start, methodDesc)).toThrow(Unreadable);
  expect(shifted.news).toBeUndefined();
});

test("a descriptor goes over the table of its version, and only where it says a sane number", () => {
  const plain = layoutOf(10);
  expect(layoutOf(9, { types: {} })).toEqual(layoutOf(9));
  const types = {
    Module: { Base: [232, "pointer"], PEAssembly: -1 },
    MethodTable: { PerInstInfo: "56" },
  };
  const described = layoutOf(10, {
    types,
    globals: { MethodDescTokenRemainderBitCount: ["0xd", "uint8"] },
  });
  expect(described).toEqual({
    ...plain,
    at: { ...plain.at, "Module.Base": 232, "MethodTable.PerInstInfo": 56 },
    tokenRemainderBits: 13,
  });
  expect(() => layoutOf(12, { types })).toThrow("its runtime does not tell");
});

test("lines of the runtime's perf map", () => {
  const lines: readonly (readonly [string, string, string])[] = [
    [
      "instance void [System.Linq] System.Linq.A+B`2[System.Int64,Wl.C`1[D]]::.ctor(int32)[Tier0]",
      "System.Linq.A+B`2..ctor",
      "System.Linq",
    ],
    [
      "class [System.Runtime]System.Func`2<int32,int64> [app] Wl.P::Make()[QuickJitted]",
      "Wl.P.Make",
      "app",
    ],
    ["uint8[] [app] Wl.P::Blob()[OptimizedTier1OSR]", "Wl.P.Blob", "app"],
    ["int64 [Anonymously Hosted] dynamicClass::Ten(int64)[Optimized]", "Ten", "[dynamic]"],
  ];
  for (const [line, name, module] of lines) {
    expect(parsePerfName(line)).toMatchObject({ name, module });
  }
  expect(lines.map(([line]) => parsePerfName(line)?.typeArguments)).toEqual([
    "[System.Int64,Wl.C`1[D]]",
    "",
    "",
    "",
  ]);
  expect(parsePerfName(lines[2]?.[0] ?? "")?.tier).toBe("OptimizedTier1OSR");
  expect(parsePerfName("FixupPrecode")).toBeUndefined();
});
