/** .NET: precompiled methods by the table of their image, beside what the runtime itself keeps of their entry points. */
import type { SeenMethod } from "../../../src/addon/drained.ts";
import type { Sampler } from "../../../src/addon/sampler.ts";
import { PageBudget } from "../../../src/runtimes/dotnet/bytes.ts";
import { ImageNames } from "../../../src/runtimes/dotnet/images.ts";
import { layoutOf, readDescriptor } from "../../../src/runtimes/dotnet/layout.ts";
import { ProcessMemory } from "../../../src/runtimes/dotnet/memory.ts";
import { MethodReader } from "../../../src/runtimes/dotnet/method.ts";
import type { ImageCache } from "../../../src/runtimes/dotnet/modules.ts";
import { bodyText } from "../../../src/runtimes/dotnet/reader.ts";
import type { ReadyToRunImage } from "../../../src/runtimes/dotnet/ready-to-run/image.ts";
import { methodsOf } from "../../../src/runtimes/dotnet/ready-to-run/method-tables.ts";
import { tablesInMemory } from "../../../src/runtimes/dotnet/shared-tables.ts";
import { attempt } from "../../../src/runtimes/dotnet/unnamed.ts";
import { NewFrames } from "../../../src/runtimes/new-frames.ts";
import type { NamedFunction } from "../../../src/runtimes/reader.ts";
import { EVENTS } from "../../../src/tick/events.ts";
import { builtAddon, methodFinder } from "../../support/addon.ts";
import {
  dotnetProgram,
  isComposite,
  PLAIN_SHAPES,
  SHAPES,
  type Shape,
} from "../../support/dotnet.ts";
import { Lacking, percent, type Row, ratio, type Section } from "../../support/measure.ts";
import { root } from "../../support/polytop.ts";
import { during, sleep, start } from "../../support/profile.ts";
import {
  type EntryMap,
  imageAt,
  methodDescAt,
  readEntryMaps,
  readMappings,
} from "./dotnet-entry-map.ts";
import { each } from "./shapes.ts";

const SECONDS = 10;
const ENOUGH = 500;

/** A place in a precompiled image that was sampled. */
interface Place {
  readonly file: number;
  readonly path: string;
  readonly offset: number;
}

/** Samples for a while: the places in precompiled code, each once. */
async function samplePlaces(sampler: Sampler, images: ImageNames): Promise<Place[]> {
  const paths = new Map<number, string>();
  const places = new Map<string, Place>();
  for (let left = SECONDS; left > 0; left--) {
    await sleep(1);
    const drained = await sampler.drain();
    images.placeFiles(drained.files);
    for (const { id, path } of drained.files) paths.set(id, path);
    const frames = new NewFrames(drained);
    for (let i = 0; i < frames.length; i++) {
      const [file, offset] = [frames.file(i), frames.offset(i)];
      if (frames.isCode(i))
        places.set(`${file}:${offset}`, { file, path: paths.get(file) ?? "", offset });
    }
  }
  return [...places.values()].filter(({ file, offset }) => images.holds(file, offset));
}

/** Names methods out of the memory of the process that a method was met in. */
function openReader(
  memory: ProcessMemory,
  { major, bias, descriptor }: SeenMethod,
  pages: PageBudget,
): MethodReader {
  const address = bias + descriptor;
  const layout = layoutOf(major, descriptor > 0 ? readDescriptor(memory, address) : undefined);
  const known = new Map<string, ReadyToRunImage>();
  const methods = methodsOf(methodFinder(), 0);
  const cache: ImageCache = {
    pages,
    tables: (image) => {
      const tables = known.get(image.key) ?? tablesInMemory({ image }, methods, pages);
      known.set(image.key, tables);
      return tables;
    },
  };
  return new MethodReader(memory, layout, cache);
}

/** Reasons are no names: two of them are not the same. */
const isSame = (one: NamedFunction, other: NamedFunction): boolean =>
  (one.whyUnnamed ?? other.whyUnnamed) === undefined &&
  one.name === other.name &&
  one.module === other.module;

async function compare(shape: Shape, pid: number, sampler: Sampler): Promise<Row[]> {
  const pages = new PageBudget(64 << 20);
  const images = new ImageNames(sampler, methodFinder(), pages);
  const places = await samplePlaces(sampler, images);
  // No map changes while it is read.
  process.kill(pid, "SIGSTOP");
  const seen = sampler.takeMethods().find((it) => it.methodDesc > 0n);
  if (!seen) throw new Lacking("no method was met that was compiled at run time");
  const memory = new ProcessMemory((id, at, size) => sampler.readMemory(id, at, size), pid);
  const reader = openReader(memory, seen, pages);

  const mappings = readMappings(pid);
  const maps = new Map<string, EntryMap>();
  const addressed = places.map((place) => {
    const { path, offset } = place;
    const code = mappings.filter((it) => it.path === path && it.access.includes("x"));
    const mapping = code.find((it) => offset >= it.offset && offset < it.offset + it.size);
    const address = mapping ? mapping.start + offset - mapping.offset : 0;
    if (mapping && !maps.has(path)) maps.set(path, imageAt(path, address, offset));
    return { ...place, address };
  });
  readEntryMaps(memory, seen.major, [...maps.values()], mappings);

  const sum = { named: 0, entries: 0, both: 0, same: 0, mapped: 0, sameMemory: 0 };
  const generic = { told: 0, of: 0, same: 0 };
  for (const { file, path, offset, address } of addressed) {
    const byImage = attempt(() => images.method(file, offset));
    if (byImage.whyUnnamed === undefined) sum.named++;
    const map = maps.get(path);
    if (!map) continue;
    sum.mapped++;
    if (
      isSame(
        byImage,
        attempt(() => reader.imageMethod(address, map.base)),
      )
    )
      sum.sameMemory++;
    const byEntry = attempt(() => reader.name(methodDescAt(map, address)));
    if (byEntry.whyUnnamed === undefined) sum.entries++;
    if ((byEntry.whyUnnamed ?? byImage.whyUnnamed) === undefined) {
      sum.both++;
      if (isSame(byImage, byEntry)) sum.same++;
      const own = bodyText({
        genericArguments: images.method(file, offset).genericArguments ?? [],
      });
      const { genericArguments } = reader.body(address, methodDescAt(map, address));
      const truth = bodyText({ genericArguments });
      if (own !== "") generic.told++;
      if (truth !== "") generic.of++;
      if (own !== "" && own === truth) generic.same++;
      if (process.env.POLYTOP_DEBUG && own !== truth) console.error(byImage.name, own, truth);
    }
    if (process.env.POLYTOP_DEBUG && !isSame(byImage, byEntry)) console.error(byImage, byEntry);
  }
  const met = places.length;
  const byMemory: Row = {
    what: `${shape.name}: … and the same by the image in the memory of the process`,
    bar: "≥ 99.9 %",
    figure: `${percent(sum.sameMemory, sum.mapped)} (${met - sum.mapped} not told)`,
    samples: sum.mapped,
    ok: sum.mapped >= ENOUGH && ratio(sum.sameMemory, sum.mapped) >= 0.999,
  };
  return [
    {
      what: `${shape.name}: places in precompiled code (${maps.size} images), named by the image`,
      bar: "≥ 99.9 %",
      figure: `${percent(sum.named, met)} (${met - sum.named} not told)`,
      samples: met,
      ok: met >= ENOUGH && ratio(sum.named, met) >= 0.999,
    },
    {
      what: `${shape.name}: … and the same by the runtime's entry points`,
      bar: "≥ 99.9 %",
      figure: `${percent(sum.same, sum.both)} (${met - sum.entries} not told)`,
      samples: sum.both,
      ok: sum.both >= ENOUGH && ratio(sum.same, sum.both) >= 0.999,
    },
    {
      what: `${shape.name}: … generic arguments that the image tells, as the runtime has them`,
      bar: "≥ 99.9 %",
      figure: `${percent(generic.same, generic.told)} (${generic.of} methods are generic)`,
      samples: generic.told,
      ok: ratio(generic.same, generic.told) >= 0.999,
    },
    // A composite image is always in a file, as are its assemblies.
    ...(isComposite(shape) ? [] : [byMemory]),
  ];
}

/** Without tiers precompiled code stays what runs. */
const precompiled = (shape: Shape): Promise<Row[]> =>
  during(
    [start("/usr/bin/env", ["DOTNET_TieredCompilation=0", dotnetProgram(shape), "framework"])],
    async ([pid = -1]) => {
      await sleep(1);
      const addon = builtAddon();
      const objectPath = `${root}dist/polytop.bpf.o`;
      const sampler = new addon.Sampler({
        objectPath,
        sources: EVENTS.cpu.sources,
        frequency: 999,
        drainSeconds: 1,
        targets: [pid],
      });
      try {
        return await compare(shape, pid, sampler);
      } finally {
        sampler.close();
      }
    },
  );

const MEASURED: readonly Shape[] = [
  ...PLAIN_SHAPES,
  ...SHAPES.filter((shape) => isComposite(shape) && !shape.name.endsWith("single")),
];

export const dotnetPrecompiled: readonly Section[] = [
  {
    name: "dotnet-precompiled",
    about: "precompiled .NET methods by their image and by the runtime's entry points",
    run: () => each(MEASURED, precompiled),
  },
];
