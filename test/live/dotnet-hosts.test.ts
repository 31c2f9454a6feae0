/** .NET where it is not expected: loaded late, with damaged metadata, and of no known version. */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { PageBudget } from "../../src/runtimes/dotnet/bytes.ts";
import { PeImage } from "../../src/runtimes/dotnet/image.ts";
import { builtShape, dotnetProgram } from "../support/dotnet.ts";
import { withFolder } from "../support/live.ts";
import { polytop } from "../support/polytop.ts";
import { during, hasRun, sampleFolded, sampleJson, start } from "../support/profile.ts";
import { workload } from "../support/workloads.ts";

const TIMEOUT = 400_000;
const SHAPE = "installed";

/** The library that loads the installed .NET, and where that is. */
function installedHost(): readonly [library: string, root: string] | undefined {
  for (const root of ["/usr/share/dotnet", "/usr/lib/dotnet"]) {
    const folder = join(root, "host", "fxr");
    const version = existsSync(folder) ? readdirSync(folder).sort().at(-1) : undefined;
    if (version) return [join(folder, version, "libhostfxr.so"), root];
  }
  return undefined;
}

test("a program that loads .NET while it is sampled", { timeout: TIMEOUT }, async (context) => {
  const assembly = `${builtShape(dotnetProgram, SHAPE, context)}.dll`;
  const host = installedHost();
  if (!host) return context.skip("no libhostfxr.so of an installed .NET");
  const program = start(workload("dotnet-host.c"), [...host, assembly, "deep", "40"]);
  const { snapshots, self } = await during([program], (pids) =>
    sampleJson({
      seconds: 12,
      frequency: 199,
      pids,
      onLine: (line) => line === 3 && process.kill(program.pid, "SIGUSR1"),
    }),
  );
  expect(self.get("spin_before") ?? 0).toBeGreaterThan(0);
  // The refresh that .NET was loaded in has its first frames too.
  const inside = snapshots
    .filter(({ functions }) => functions.some(({ name }) => name === "Truth.Work.Turns"))
    .slice(1);
  expect(inside.length).toBeGreaterThan(0);
  const add = (numbers: readonly number[]): number => numbers.reduce((sum, it) => sum + it, 0);
  const complete = add(inside.map(({ stacks }) => stacks.complete));
  expect(complete / add(inside.map(({ samples }) => samples))).toBeGreaterThanOrEqual(0.99);
  const total = (name: string): number =>
    add(inside.map(({ functions }) => functions.find((it) => it.name === name)?.total ?? 0));
  expect(total("Truth.Program.Descend")).toBeGreaterThan(0);
  // Main is below all of it, and between two descents alone for a moment.
  expect(total("Truth.Program.Main")).toBeGreaterThanOrEqual(total("Truth.Program.Descend"));
  expect(total("Truth.Program.Descend") / total("Truth.Program.Main")).toBeGreaterThan(0.99);
  expect(total("main")).toBeGreaterThanOrEqual(total("Truth.Program.Main"));
});

test("an assembly whose metadata is damaged", { timeout: TIMEOUT }, async (context) => {
  const program = builtShape(dotnetProgram, SHAPE, context);
  // What is compiled again after the damage would end the runtime.
  const args = ["DOTNET_TieredCompilation=0", program, "corrupt", `${program}.dll`];
  const sums = await during([start("/usr/bin/env", args)], async (pids) => {
    await hasRun(pids[0] ?? 0, 3);
    return sampleJson({ seconds: 3, frequency: 199, pids });
  });
  const names = [...sums.self.keys()];
  expect(sums.samples).toBeGreaterThan(0);
  expect(names).toContain("[unnamed method: its image has no metadata]");
  expect(names.filter((name) => name.startsWith("Truth."))).toEqual([]);
});

test("an assembly that was replaced lends its names to no code of a composite image", {
  timeout: TIMEOUT,
}, async (context) => {
  const folder = dirname(builtShape(dotnetProgram, "net10-composite", context));
  await withFolder(async (copy) => {
    cpSync(folder, copy, { recursive: true });
    const assembly = join(copy, "program.dll");
    const bytes = readFileSync(assembly);
    const image = new PeImage((at, size) => bytes.subarray(at, at + size), [false]);
    const id = Buffer.from(image.metadata(new PageBudget(1 << 20)).moduleId, "hex");
    const command = 'DOTNET_TieredCompilation=0 exec "$0" deep 40';
    const program = start("/bin/sh", ["-c", command, join(copy, "program")]);
    const framesOf = async (pids: readonly number[]): Promise<string[]> => {
      const stacks = await sampleFolded({ seconds: 3, frequency: 199, pids });
      return stacks.flatMap(({ frames }) => frames);
    };
    /** Looks again while pages of the image's unwind codes are not mapped, which nobody but a profiler reads. */
    const framesWith = async (name: string, pids: readonly number[]): Promise<string[]> => {
      let frames: string[] = [];
      for (let look = 0; look < 8 && !frames.includes(name); look++) frames = await framesOf(pids);
      return frames;
    };
    await during([program], async (pids) => {
      await hasRun(program.pid, 2);
      expect(await framesWith("Truth.Program.Descend", pids)).toContain("Truth.Program.Descend");
      bytes.fill(7, bytes.indexOf(id), bytes.indexOf(id) + 8);
      rmSync(assembly);
      writeFileSync(assembly, bytes);
      const unnamed = "[unnamed method: the file of its assembly is of another build]";
      const frames = await framesWith(unnamed, pids);
      expect(frames).toContain(unnamed);
      // Others were compiled at run time: those the process itself names.
      expect(frames).not.toContain("Truth.Program.Descend");
    });
  });
});

test("a runtime of a version that is not known is told of", {
  timeout: TIMEOUT,
}, async (context) => {
  const program = readFileSync(builtShape(dotnetProgram, "net8-single", context));
  const version = program.indexOf("@(#)Version 8.");
  expect(version).toBeGreaterThan(0);
  program.write("7", version + "@(#)Version ".length);
  await withFolder(async (folder) => {
    const path = join(folder, "program");
    writeFileSync(path, program, { mode: 0o755 });
    await during([start(path, ["deep", "40"])], async ([pid = 0]) => {
      await hasRun(pid, 1);
      const { status, stdout, stderr } = await polytop(["--json", "-n", "3", "-p", String(pid)]);
      expect(status).toBe(0);
      expect(stderr).toContain(`.NET 7 is not supported: its methods are not shown (${path})`);
      expect(stdout).not.toContain("Truth.");
    });
  });
});

/** Writes over all places where a text is found. */
function replaceAll(bytes: Buffer, text: string, by: string): void {
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + by.length))
    bytes.write(by, at);
}

test("a runtime that is later than all that were tried is read by its own descriptor, and told of", {
  timeout: TIMEOUT,
}, async (context) => {
  const program = readFileSync(builtShape(dotnetProgram, "net11-single", context));
  replaceAll(program, "@(#)Version 11.", "@(#)Version 12.");
  replaceAll(program, '"RuntimeProductVersionString":["11.', '"RuntimeProductVersionString":["12.');
  const name = "DotNetRuntimeInfo\0";
  for (let at = program.indexOf(name); at >= 0; at = program.indexOf(name, at + 1))
    if (program.readUInt32LE(at + 96) === 11) program.writeUInt32LE(12, at + 96);
  await withFolder(async (folder) => {
    const path = join(folder, "program");
    writeFileSync(path, program, { mode: 0o755 });
    await during([start(path, ["deep", "40"])], async ([pid = 0]) => {
      await hasRun(pid, 1);
      const { status, stdout, stderr } = await polytop(["--json", "-n", "3", "-p", String(pid)]);
      expect(status).toBe(0);
      expect(stderr).toContain(
        ".NET 12 is newer than what was tried (11): its layout was checked against itself",
      );
      expect(stdout).toContain("Truth.Program.Descend");
    });
  });
});
