/** Tiers and generic arguments of the bodies of .NET methods out of recorded memory, against the runtime's own words. */
import { expect, test } from "vitest";
import { layoutOf } from "../../../src/runtimes/dotnet/layout.ts";
import { ProcessMemory, Unreadable } from "../../../src/runtimes/dotnet/memory.ts";
import type { MethodBody } from "../../../src/runtimes/dotnet/method.ts";
import { DotnetProcess } from "../../../src/runtimes/dotnet/process.ts";
import { bodyText } from "../../../src/runtimes/dotnet/reader.ts";
import { TierReader } from "../../../src/runtimes/dotnet/tier.ts";
import { PERF_TIERS } from "../../support/dotnet.ts";
import { noCache, readRecording, recordedMemory } from "../../support/dotnet-recording.ts";

const VERSIONS = [8, 9, 10, 11];

function bodiesOf(major: number): readonly { readonly body: MethodBody; readonly at: number }[] {
  const recording = readRecording(major);
  const memory = new ProcessMemory(recordedMemory(recording), 1);
  const process = new DotnetProcess(memory, recording, recording.bias, noCache());
  return recording.methods.map(({ start }, at) => ({ body: process.body(start), at }));
}

test.each(VERSIONS)(".NET %i: a tier that is told is the runtime's", (major) => {
  const { methods } = readRecording(major);
  for (const { body, at } of bodiesOf(major)) {
    const method = methods[at];
    if (body.tier !== undefined) {
      expect(PERF_TIERS[method?.tier ?? ""], `${method?.name} ${method?.tier}`).toContain(
        body.tier,
      );
    }
  }
});

test.each([9, 10])(".NET %i: the tier is told of methods that were compiled again", (major) => {
  const told = bodiesOf(major).flatMap(({ body }) => body.tier ?? []);
  expect(told).toEqual(
    expect.arrayContaining(["tier 0", "tier 0 instrumented", "tier 1", "compiled once"]),
  );
  expect(told.length).toBeGreaterThan(20);
});

test.each(VERSIONS)(".NET %i: generic arguments are the runtime's, the method's too", (major) => {
  const { methods } = readRecording(major);
  const told = bodiesOf(major).map(({ body, at }) => {
    const ofType = body.genericArguments.filter((it) => it.of === "type").map((it) => it.type);
    expect(ofType.length > 0 ? `[${ofType.join(",")}]` : "").toBe(methods[at]?.typeArguments);
    return bodyText({ genericArguments: body.genericArguments });
  });
  expect(told).toContain("TItem=Truth.Mix+Pair  TOther=Truth.Mix+Weight");
  expect(told).toContain("TItem=Truth.Mix+Weight  TOther=Truth.Mix+Pair");
});

/** A process whose method at 0x1000 has bodies in a list that was made up; `next` of each: its index. */
function listed(bodies: readonly { code: number; tier: number; next: number; of?: number }[]) {
  const [method, codeData, state] = [0x1000, 0x2000, 0x3000];
  const bytes = Buffer.alloc(0x8000);
  const node = (index: number): number => (index < 0 ? 0 : 0x4000 + 64 * index);
  bytes.writeUInt16LE(0x8000, method);
  bytes.writeBigUInt64LE(BigInt(codeData), method + 8);
  bytes.writeBigUInt64LE(BigInt(state), codeData);
  bytes.writeBigUInt64LE(BigInt(node(bodies.length - 1)), state + 16);
  bodies.forEach(({ code, tier, next, of = method }, index) => {
    bytes.writeBigUInt64LE(BigInt(code), node(index));
    bytes.writeBigUInt64LE(BigInt(of), node(index) + 8);
    bytes.writeBigUInt64LE(BigInt(node(next)), node(index) + 24);
    bytes.writeUInt32LE(tier, node(index) + 36);
  });
  const memory = new ProcessMemory(
    (_pid, address, size) => bytes.subarray(Number(address), Number(address) + size),
    1,
  );
  const tierOf = (code: number, major = 11) => {
    const layout = { ...layoutOf(11), major };
    return new TierReader(memory, layout).tier(code, method, bytes.subarray(method, method + 16));
  };
  return tierOf;
}

test("the first body is tier 0 when hotter ones followed, and else nothing is said", () => {
  const hot = listed([{ code: 0x7000, tier: 1, next: -1 }]);
  expect(hot(0x7000)).toBe("tier 1");
  expect(hot(0x6000)).toBe("tier 0");
  expect(listed([])(0x6000)).toBeUndefined();
  const atOnce = listed([{ code: 0x7000, tier: 3, next: -1 }]);
  expect(atOnce(0x7000)).toBe("optimized");
  expect(atOnce(0x6000)).toBeUndefined();
  const unknown = listed([{ code: 0x7000, tier: 9, next: -1 }]);
  expect([unknown(0x7000), unknown(0x6000)]).toEqual([undefined, undefined]);
});

test("tiers of a version that nobody has tried are not guessed", () => {
  expect(listed([{ code: 0x7000, tier: 1, next: -1 }])(0x7000, 12)).toBeUndefined();
});

test("a list of bodies that never ends, or is another method's, is refused", () => {
  const endless = listed([
    { code: 0x7000, tier: 1, next: 1 },
    { code: 0x7100, tier: 1, next: 0 },
  ]);
  expect(() => endless(0x6000)).toThrow(Unreadable);
  expect(() => listed([{ code: 0x7000, tier: 1, next: -1, of: 0x1008 }])(0x7000)).toThrow(
    Unreadable,
  );
});
