/** The test that polytop makes of its own walk of mappings before it samples. */
import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Sampler, SamplerOptions } from "../../src/addon/sampler.ts";
import { EVENTS } from "../../src/tick/events.ts";
import { withFolder } from "../support/live.ts";
import { dist, needsSampling, root } from "../support/polytop.ts";

/** What another kernel may do in another way, for either kind of tree. */
const CHANGES: readonly (readonly [from: RegExp, to: string])[] = [
  [/(#define MAPLE_RANGE_PIVOTS) 15/, "$1 14"],
  [/(#define RB_MAX_DEPTH) 48/, "$1 3"],
];

/** The BPF object as it would be on a kernel with other trees; built in a folder. */
function objectForOtherTrees(folder: string): string {
  cpSync(`${root}bpf`, join(folder, "bpf"), { recursive: true });
  const source = join(folder, "bpf/unwind/vma.h");
  let text = readFileSync(source, "utf8");
  for (const [from, to] of CHANGES) {
    expect(text).toMatch(from);
    text = text.replace(from, to);
  }
  writeFileSync(source, text);
  const object = join(folder, "other.o");
  const flags = ["-g", "-O2", "-target", "bpf", "-D__TARGET_ARCH_x86", "-I", `${root}build`];
  const include = ["-isystem", "/usr/include/x86_64-linux-gnu"];
  const main = join(folder, "bpf/sample.bpf.c");
  execFileSync("clang-19", [...flags, ...include, "-c", main, "-o", object]);
  return object;
}

test("a kernel that keeps mappings in a way that is not known is refused", async (context) => {
  needsSampling(context);
  const { Sampler: Opened } = createRequire(import.meta.url)(`${dist}polytop.node`) as {
    readonly Sampler: new (options: SamplerOptions) => Sampler;
  };
  const open = (objectPath: string): Sampler =>
    new Opened({
      objectPath,
      sources: EVENTS.cpu.sources,
      frequency: 99,
      drainSeconds: 1,
      targets: [],
    });
  open(`${dist}polytop.bpf.o`).close();
  await withFolder(async (folder) => {
    const object = objectForOtherTrees(folder);
    const { ENOTSUP } = constants.errno;
    expect(() => open(object)).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/does not know/), errno: ENOTSUP }),
    );
  });
});
