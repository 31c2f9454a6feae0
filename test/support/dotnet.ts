/** Builds test/workloads/dotnet in the shapes that .NET programs come in, and samples below the names. */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import type { TestContext } from "vitest";
import {
  DOTNET_GENERATION_SHIFT,
  DOTNET_STUBS,
  FRAME_DOTNET,
  FRAME_KIND_SHIFT,
  FRAME_VALUE_MASK,
} from "../../build/abi.ts";
import { DotnetReader } from "../../src/runtimes/dotnet/reader.ts";
import type { Tier } from "../../src/runtimes/dotnet/tier.ts";
import { EVENTS } from "../../src/tick/events.ts";
import { builtAddon, methodFinder } from "./addon.ts";
import { exclusively } from "./exclusive.ts";
import { Lacking } from "./measure.ts";
import { dist, needsSampling, root } from "./polytop.ts";

/** A way to publish the program. */
export interface Shape {
  readonly name: string;
  readonly framework: string;
  /** The runtime that NuGet must have; empty: the installed one. */
  readonly version: string;
  readonly flags: readonly string[];
}

const SELF_CONTAINED = ["--self-contained", "true"];
const SINGLE_FILE = [...SELF_CONTAINED, "-p:PublishSingleFile=true"];
const COMPRESSED = [...SINGLE_FILE, "-p:EnableCompressionInSingleFile=true"];
const TRIMMED = [...SINGLE_FILE, "-p:PublishTrimmed=true"];
const PRECOMPILED = [...SELF_CONTAINED, "-p:PublishReadyToRun=true"];
const SPLIT = [...PRECOMPILED, "-p:PublishReadyToRunCrossgen2ExtraArgs=--hot-cold-splitting"];
const AS_COMPOSITE = "-p:PublishReadyToRunComposite=true";

/** One image for the program and the part of the framework that it uses: of all of it that takes minutes. */
const COMPOSITE = [
  ...PRECOMPILED,
  AS_COMPOSITE,
  "-p:PublishTrimmed=true",
  // A trimmed program lacks it, and one of the things that this one does is JSON of its own types.
  "-p:JsonSerializerIsReflectionEnabledByDefault=true",
];
const COMPOSITE_SINGLE = [...COMPOSITE, "-p:PublishSingleFile=true"];

/** Compiled to a native program, which any linker of C programs links. */
const NATIVE = [
  "-p:PublishAot=true",
  "-p:CppCompilerAndLinker=gcc",
  "-p:LinkerFlavor=bfd",
  "-p:ObjCopyName=objcopy",
];

const NET8 = { framework: "net8.0", version: "8.0.29" };
const NET9 = { framework: "net9.0", version: "9.0.18" };
const NET10 = { framework: "net10.0", version: "10.0.12" };
const NET11 = { framework: "net11.0", version: "11.0.0" };

/** Those whose code is in files of its own. */
export const PLAIN_SHAPES: readonly Shape[] = [
  { name: "installed", framework: "net10.0", version: "", flags: ["--self-contained", "false"] },
  { name: "net8", ...NET8, flags: SELF_CONTAINED },
  { name: "net9", ...NET9, flags: SELF_CONTAINED },
  { name: "net10", ...NET10, flags: SELF_CONTAINED },
  { name: "net11", ...NET11, flags: SELF_CONTAINED },
];

export const SHAPES: readonly Shape[] = [
  ...PLAIN_SHAPES,
  { name: "net8-single", ...NET8, flags: SINGLE_FILE },
  { name: "net10-single", ...NET10, flags: SINGLE_FILE },
  { name: "net11-single", ...NET11, flags: SINGLE_FILE },
  { name: "net10-compressed", ...NET10, flags: COMPRESSED },
  { name: "net11-compressed", ...NET11, flags: COMPRESSED },
  { name: "net10-trimmed", ...NET10, flags: TRIMMED },
  { name: "net11-trimmed", ...NET11, flags: TRIMMED },
  { name: "net10-precompiled", ...NET10, flags: PRECOMPILED },
  { name: "net11-precompiled", ...NET11, flags: PRECOMPILED },
  { name: "net10-split", ...NET10, flags: SPLIT },
  { name: "net11-split", ...NET11, flags: SPLIT },
  // These versions have a compiler of composite images.
  { name: "net8-composite", ...NET8, version: "8.0.30", flags: COMPOSITE },
  { name: "net9-composite", ...NET9, version: "9.0.19", flags: COMPOSITE },
  { name: "net10-composite", ...NET10, flags: COMPOSITE },
  { name: "net11-composite", ...NET11, flags: COMPOSITE },
  { name: "net10-composite-single", ...NET10, flags: COMPOSITE_SINGLE },
  { name: "net11-composite-single", ...NET11, flags: COMPOSITE_SINGLE },
  // Methods that wait are no state machines there.
  { name: "net11-async", ...NET11, flags: [...SELF_CONTAINED, "-p:RuntimeAsync=true"] },
  // Its garbage collector has a heap for each processor, and write barriers of its own.
  { name: "net11-server", ...NET11, flags: [...SELF_CONTAINED, "-p:ServerGarbageCollection=true"] },
];

/** Programs without a runtime: there is neither a perf map of them nor a method that is compiled later. */
export const NATIVE_SHAPES: readonly Shape[] = [
  { name: "net10-native", ...NET10, flags: NATIVE },
  { name: "net11-native", ...NET11, flags: NATIVE },
];

export const isComposite = ({ flags }: Shape): boolean => flags.includes(AS_COMPOSITE);

const sources = `${root}test/workloads/dotnet/`;

/** The program in a shape, built unless it is there; throws Lacking where the SDK or a package cannot be had. */
export const dotnetProgram = (shape: Shape): string =>
  exclusively(`dotnet-${shape.name}`, () => publishedProgram(shape));

function publishedProgram(shape: Shape): string {
  const program = `${root}build/workloads/dotnet-${shape.name}/program`;
  const files = ["Program.cs", "Reuse.cs", "program.csproj", "net11.targets"];
  if (
    isNewer(
      program,
      files.map((it) => sources + it),
    )
  )
    return program;
  publish(sources, `dotnet-${shape.name}`, propertiesOf(shape));
  return program;
}

/** test/workloads/dotnet-awaits, built as dotnetProgram() is, by the same project. */
export const awaitsProgram = (shape: Shape): string =>
  exclusively(`awaits-${shape.name}`, () => {
    const folder = `${root}test/workloads/dotnet-awaits/`;
    const name = `awaits-${shape.name}`;
    const program = `${root}build/workloads/${name}/program`;
    if (isNewer(program, [`${folder}Program.cs`, `${sources}program.csproj`])) return program;
    const project = (copy: string): void => {
      for (const file of ["program.csproj", "net11.targets"]) cpSync(sources + file, copy + file);
    };
    publish(folder, name, propertiesOf(shape), project);
    return program;
  });

const isNewer = (program: string, files: readonly string[]): boolean =>
  existsSync(program) && files.every((it) => statSync(it).mtimeMs <= statSync(program).mtimeMs);

function propertiesOf({ framework, version, flags }: Shape): string[] {
  return [
    `-p:Framework=${framework}`,
    ...(version ? [`-p:RuntimeVersion=${version}`] : []),
    ...flags,
  ];
}

interface SdkError extends Error {
  readonly code?: string;
  readonly stdout?: Buffer | null;
  readonly stderr?: Buffer | null;
}

/** Why a run of the SDK failed: its first error, or why there is none. */
export function whyNoSdk({ code, message, stdout, stderr }: SdkError): string {
  if (code === "ENOENT") return "the .NET SDK (dotnet) is not installed";
  const said = `${stdout ?? ""}\n${stderr ?? ""}`.trim() || message;
  const line = said.split("\n").find((it) => it.includes("error")) ?? said;
  return `the .NET SDK says: ${line.trim().slice(0, 160)}`;
}

/** Runs the SDK; throws Lacking with its first error where something cannot be had. */
export function runSdk(args: readonly string[], folder: string): void {
  try {
    execFileSync("dotnet", args, {
      cwd: folder,
      env: { ...process.env, DOTNET_CLI_TELEMETRY_OPTOUT: "1", DOTNET_NOLOGO: "1" },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 900_000,
    });
  } catch (error) {
    throw new Lacking(whyNoSdk(error as SdkError));
  }
}

/**
 * Publishes a project into build/workloads/NAME from a copy of its folder, which `change` may edit first.
 * Throws Lacking where the SDK or a package cannot be had.
 */
export function publish(
  project: string,
  name: string,
  properties: readonly string[],
  change: (copy: string) => void = () => {},
): string {
  const output = `${root}build/workloads/${name}/`;
  // Not below the output: what is there is no source to the SDK.
  const copy = `${root}build/workloads/${name}-source/`;
  for (const folder of [output, copy]) rmSync(folder, { recursive: true, force: true });
  mkdirSync(copy, { recursive: true });
  cpSync(project, copy, { recursive: true });
  change(copy);
  try {
    const common = ["publish", "-c", "Release", "-r", "linux-x64", "-v", "q", "-o", output];
    runSdk([...common, ...properties], copy);
  } catch (error) {
    rmSync(output, { recursive: true, force: true });
    throw error;
  }
  return output;
}

/** A method that was sampled, by where its code starts. */
export interface SampledMethod {
  readonly start: bigint;
  readonly name: string;
  readonly module: string;
  /** See Frame.body; empty where it was not told. */
  readonly body: string;
}

/** A body of a method as the runtime's perf map has it. */
export interface PerfMethod {
  readonly name: string;
  readonly module: string;
  /** `[System.Int32,System.__Canon]` of the type, empty where it is not generic. */
  readonly typeArguments: string;
  /** One of PERF_TIERS, or what the runtime wrote in its place. */
  readonly tier: string;
}

/** What the runtime calls the tiers in its perf map (src/coreclr/vm/perfmap.cpp), and what they are called here. */
export const PERF_TIERS: Readonly<Record<string, readonly Tier[]>> = {
  QuickJitted: ["tier 0"],
  OptimizedTier1: ["tier 1"],
  OptimizedTier1OSR: ["OSR"],
  InstrumentedTier: ["tier 0 instrumented"],
  InstrumentedTierOptimized: ["tier 1 instrumented"],
  Optimized: ["optimized", "compiled once"],
  MinOptJitted: ["compiled once"],
};

const START_MASK = (1n << BigInt(DOTNET_GENERATION_SHIFT)) - 1n;

/** Samples one process for a time; the methods that were met and compiled at run time. */
export async function sampleMethods(pid: number, seconds: number): Promise<SampledMethod[]> {
  const { Sampler: Opened } = builtAddon();
  const objectPath = `${dist}polytop.bpf.o`;
  const sampler = new Opened({
    objectPath,
    sources: EVENTS.cpu.sources,
    frequency: 999,
    drainSeconds: 1,
    targets: [pid],
  });
  const names = new DotnetReader(sampler, methodFinder());
  const found = new Map<bigint, SampledMethod>();
  sampler.onMethods(() => names.resolveSeen());
  try {
    for (let left = seconds; left > 0; left--) {
      await new Promise((resolve) => setTimeout(resolve, 1000));
      const drained = await sampler.drain();
      names.ingest(drained);
      names.resolveSeen();
      for (const word of drained.frames) {
        if (Number(word >> BigInt(FRAME_KIND_SHIFT)) !== FRAME_DOTNET) continue;
        if ((word & FRAME_VALUE_MASK) < DOTNET_STUBS) continue;
        const { name, module, body = names.bodyOf(word, pid) ?? "" } = names.name(word, pid);
        found.set(word, { start: word & START_MASK, name, module, body });
      }
    }
  } finally {
    sampler.close();
  }
  return [...found.values()];
}

/** The methods that the runtime itself wrote down: start of the code -> name and module as polytop writes them. */
export function readPerfMap(pid: number): Map<bigint, PerfMethod> {
  const path = `/tmp/perf-${pid}.map`;
  const methods = new Map<bigint, PerfMethod>();
  for (const line of readFileSync(path, "utf8").split("\n")) {
    const [start, , ...rest] = line.split(" ");
    const parsed = parsePerfName(rest.join(" "));
    if (start && parsed) methods.set(BigInt(`0x${start.replace(/^0x/, "")}`), parsed);
  }
  return methods;
}

/** `instance void [module] Type`1[Argument]::Method(parameters)[Tier]` */
export function parsePerfName(text: string): PerfMethod | undefined {
  const separator = text.lastIndexOf("::");
  if (separator < 0) return undefined;
  const method = text.slice(separator + 2).replace(/\(.*$/s, "");
  const before = text.slice(0, separator);
  const found = /^.*?\[([^\]]+)\] (.*)$/s.exec(cutReturnType(before));
  if (!found) return undefined;
  const [, module = "", type = ""] = found;
  const plain = type.replace(/\[.*$/s, "");
  const tier = /\[(\w+)\]$/.exec(text)?.[1] ?? "";
  const typeArguments = type.slice(plain.length);
  return type === "dynamicClass"
    ? { name: method, module: "[dynamic]", typeArguments, tier }
    : { name: `${plain}.${method}`, module, typeArguments, tier };
}

/** The module is the last `[name] ` that is followed by the type: return types have brackets too. */
function cutReturnType(text: string): string {
  const places = [...text.matchAll(/\[[^\][]+\] /g)].map((it) => it.index);
  const last = places.at(-1);
  return last === undefined ? text : text.slice(last);
}

/** A program in a shape, by its name; skips the test where it cannot be had here. */
export function builtShape(
  build: (shape: Shape) => string,
  name: string,
  context: TestContext,
): string {
  needsSampling(context);
  const shape = SHAPES.find((it) => it.name === name);
  if (!shape) throw new Error(`no shape ${name}`);
  try {
    return build(shape);
  } catch (error) {
    if (error instanceof Lacking) context.skip(error.message);
    throw error;
  }
}
