/** Names of the kernel's functions, as the kernel tells them itself. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { release } from "node:os";
import { expect, test } from "vitest";
import type { Sampler, SamplerOptions } from "../../src/addon/sampler.ts";
import { EVENTS } from "../../src/tick/events.ts";
import { dist, needsSampling } from "../support/polytop.ts";

const { Sampler: Opened } = createRequire(import.meta.url)(`${dist}polytop.node`) as {
  readonly Sampler: new (options: SamplerOptions) => Sampler;
};

const [major = 0, minor = 0] = release().split(".").map(Number);
const tellsNames = major > 5 || (major === 5 && minor >= 13);

/** Functions of the kernel and its modules, by address: `name [module]` of each that begins there. */
function functionsOfKernel(): Map<bigint, string[]> {
  const functions = new Map<bigint, string[]>();
  for (const line of readFileSync("/proc/kallsyms", "utf8").split("\n")) {
    const [, address, name = "", module = ""] =
      /^(ffffffff\w{8}) [tTwW] (\S+)(?:\t\[(.*)\])?$/.exec(line) ?? [];
    // BPF programs and what belongs to them come and go meanwhile; `_etext` is where code has ended.
    const isNone = /^(bpf|__builtin__\w+)$/.test(module) || name === "_etext";
    if (address === undefined || isNone) continue;
    const key = BigInt(`0x${address}`);
    functions.set(key, [...(functions.get(key) ?? []), `${name} ${module}`]);
  }
  return functions;
}

test("the kernel names its functions as /proc/kallsyms does", (context) => {
  needsSampling(context);
  const sampler = new Opened({
    objectPath: `${dist}polytop.bpf.o`,
    sources: EVENTS.cpu.sources,
    frequency: 1,
    drainSeconds: 1,
    targets: [process.pid],
  });
  try {
    const functions = functionsOfKernel();
    expect(functions.size).toBeGreaterThan(10_000);
    const addresses = [...functions.keys()].filter((_, index) => index % 61 === 0);
    const texts = sampler.nameKernel(BigUint64Array.from(addresses));
    expect(texts).toHaveLength(addresses.length);
    if (!tellsNames) {
      expect(new Set(texts)).toEqual(new Set([""]));
      return;
    }
    for (const [at, address] of addresses.entries()) {
      const [, name, module = ""] = /^(.+)\+0x0\/0x\w+(?: \[(.+)\])?$/.exec(texts[at] ?? "") ?? [];
      expect(functions.get(address)).toContain(`${name} ${module}`);
    }
    // The last page of the address space is nobody's.
    expect(sampler.nameKernel(BigUint64Array.of(0xffff_ffff_ffff_f800n))[0]).not.toContain("+");
  } finally {
    sampler.close();
  }
});
