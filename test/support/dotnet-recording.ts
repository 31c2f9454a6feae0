/**
 * Records what naming reads of a .NET process, with what the runtime itself says of the methods, for the unit tests.
 * Run with the project's Node, as root: node test/support/dotnet-recording.ts [VERSION…]
 */
import { spawn } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";
import type { SeenMethod } from "../../src/addon/drained.ts";
import { PageBudget } from "../../src/runtimes/dotnet/bytes.ts";
import { NEWEST_MEASURED } from "../../src/runtimes/dotnet/layout.ts";
import { ProcessMemory, type ReadMemory } from "../../src/runtimes/dotnet/memory.ts";
import type { ImageCache } from "../../src/runtimes/dotnet/modules.ts";
import { DotnetProcess } from "../../src/runtimes/dotnet/process.ts";
import { methodsOf } from "../../src/runtimes/dotnet/ready-to-run/method-tables.ts";
import { tablesInMemory } from "../../src/runtimes/dotnet/shared-tables.ts";
import { EVENTS } from "../../src/tick/events.ts";
import { builtAddon, methodFinder } from "./addon.ts";
import { dotnetProgram, type PerfMethod, readPerfMap, SHAPES } from "./dotnet.ts";
import { cleanEnvironment, dist, root } from "./polytop.ts";

/** A method of a recording, and what the runtime calls it. */
export interface RecordedMethod extends PerfMethod {
  readonly start: number;
  readonly methodDesc: number;
}

/** What was read of a process: `address:size` -> bytes in base64. */
export interface Recording {
  readonly major: number;
  readonly descriptor: number;
  readonly bias: number;
  readonly methods: readonly RecordedMethod[];
  readonly memory: Readonly<Record<string, string>>;
}

/** Methods of the framework: the metadata of each is some pages. */
const MAX_FOREIGN = 12;

const fixture = (major: number): string => `${root}test/fixtures/dotnet/${major}.json.gz`;
const START_MASK = (1n << 47n) - 1n;

/** The recording of a version. */
export function readRecording(major: number): Recording {
  return JSON.parse(gunzipSync(readFileSync(fixture(major))).toString("utf8")) as Recording;
}

/** Reads from a recording what was read when it was made, or parts of it; nothing else is there. */
export function recordedMemory({ memory }: Recording): ReadMemory {
  const pieces = Object.entries(memory).map(([key, text]) => ({
    start: Number(key.split(":")[0]),
    bytes: Buffer.from(text, "base64"),
  }));
  return (_pid, address, size) => {
    const at = Number(address);
    const piece = pieces.find(
      ({ start, bytes }) => start <= at && at + size <= start + bytes.length,
    );
    return piece?.bytes.subarray(at - piece.start, at - piece.start + size) ?? Buffer.alloc(0);
  };
}

/** Keeps nothing but pages: each image is read anew. */
export function noCache(): ImageCache {
  const pages = new PageBudget(1 << 20);
  const methods = methodsOf(methodFinder(), 0);
  return { pages, tables: (image) => tablesInMemory({ image }, methods, pages) };
}

async function record(shapeName: string, major: number): Promise<void> {
  const shape = SHAPES.find(({ name }) => name === shapeName);
  if (!shape) throw new Error(`no shape ${shapeName}`);
  const env = cleanEnvironment({ DOTNET_PerfMapEnabled: "1" });
  // It waits for the sampler: the first bodies of its methods do not run for long.
  const command = 'kill -STOP $$; exec "$0" mix';
  const child = spawn("/bin/sh", ["-c", command, dotnetProgram(shape)], { env, stdio: "ignore" });
  const pid = child.pid ?? -1;
  const { Sampler: Opened } = builtAddon();
  const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
  const objectPath = `${dist}polytop.bpf.o`;
  const sampler = new Opened({
    objectPath,
    sources: EVENTS.cpu.sources,
    frequency: 999,
    drainSeconds: 1,
    targets: [pid],
  });
  child.kill("SIGCONT");
  await sleep(6000);
  // Those that files tell of come with a drain.
  await sampler.drain();
  const seen: SeenMethod[] = sampler
    .takeMethods()
    .filter((it) => it.methodDesc > 0 && it.name === undefined);
  const truth = readPerfMap(pid);
  const memory: Record<string, string> = {};
  const read: ReadMemory = (id, address, size) => {
    const bytes = sampler.readMemory(id, address, size);
    memory[`${address}:${size}`] = Buffer.from(bytes).toString("base64");
    return bytes;
  };
  const first = seen[0];
  if (!first) throw new Error("no method was met");
  const file = { major: first.major, descriptor: first.descriptor };
  const named = (version: number): DotnetProcess =>
    new DotnetProcess(
      new ProcessMemory(read, pid),
      { ...file, major: version },
      first.bias,
      noCache(),
    );
  const process = named(major);
  // Of a version that nobody has tried more is read.
  const later = named(NEWEST_MEASURED + 1);
  let foreign = 0;
  const methods = seen.flatMap((it) => {
    const start = it.word & START_MASK;
    const known = truth.get(start);
    if (known === undefined) return [];
    // The generic types of the framework are taken too: their arguments are of many kinds.
    const isOwn = known.module === "program";
    if (!isOwn && (known.typeArguments === "" || ++foreign > MAX_FOREIGN)) return [];
    process.method(Number(start), it.methodDesc);
    if (major === NEWEST_MEASURED) later.method(Number(start), it.methodDesc);
    process.body(Number(start));
    return [{ start: Number(start), methodDesc: it.methodDesc, ...known }];
  });
  sampler.close();
  child.kill("SIGKILL");
  rmSync(`/tmp/perf-${pid}.map`, { force: true });
  rmSync(`/tmp/perfinfo-${pid}.map`, { force: true });
  const recording: Recording = { ...file, bias: first.bias, methods, memory };
  writeFileSync(fixture(major), gzipSync(JSON.stringify(recording), { level: 9 }));
  console.log(`.NET ${major}: ${methods.length} methods, ${Object.keys(memory).length} reads`);
}

if (import.meta.main) {
  const wanted = process.argv.slice(2).map(Number);
  for (const major of wanted.length > 0 ? wanted : [8, 9, 10, 11])
    await record(`net${major}`, major);
}
