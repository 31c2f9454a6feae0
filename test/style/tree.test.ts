/** What holds for the whole tree of sources. */
import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";
import { root } from "../support/polytop.ts";

const read = (path: string): string => readFileSync(join(root, path), "utf8");
const sources = globSync("src/**/*.{ts,tsx}", { cwd: root });
const nativeSources = globSync("{bpf,native}/**/*.{c,h,cpp}", { cwd: root });

/** The most that a folder holds. */
const MOST_FILES = 22;

interface Import {
  readonly from: string;
  readonly to: string;
  readonly isType: boolean;
}

/** Imports of files of our own, static and dynamic. */
function importsOf(file: string): Import[] {
  const pattern =
    /(import|export)\s+(type\s+)?(?:[^"';]*?\sfrom\s+)?"(\.[^"]+)"|import\("(\.[^"]+)"\)/g;
  return [...read(file).matchAll(pattern)].map((match) => ({
    from: file,
    to: normalize(join(dirname(file), match[3] ?? match[4] ?? "")),
    isType: match[2] !== undefined,
  }));
}

/**
 * The layers from the ground up, each with the others that it may import: dependencies point down. Facts that the
 * kernel side shares (bpf/*.json, build/abi.ts) and package.json may be known to any.
 */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  "src/tick/": [],
  "src/machine/": ["src/tick/"],
  "src/addon/": ["src/tick/", "src/machine/"],
  "src/recording/": ["src/tick/", "src/machine/"],
  "src/runtimes/": ["src/tick/", "src/addon/", "src/machine/"],
  "src/events/": ["src/tick/", "src/addon/", "src/machine/"],
  "src/collector/": ["src/tick/", "src/addon/", "src/machine/", "src/runtimes/"],
  "src/sources/": ["src/tick/", "src/addon/", "src/machine/", "src/recording/", "src/collector/"],
  "src/model/": ["src/tick/"],
  "src/text/": ["src/tick/", "src/model/"],
  "src/output/": ["src/tick/", "src/model/", "src/text/", "src/recording/"],
  "src/terminal/": ["src/text/"],
  "src/screen/": ["src/tick/", "src/machine/", "src/model/", "src/text/", "src/terminal/"],
  "src/doctor/": ["src/tick/", "src/machine/"],
  // Options are made of the table of formats.
  "src/options/": ["src/tick/", "src/model/", "src/output/formats.ts"],
};

const FACTS = ["bpf/counters.json", "bpf/dotnet-layouts.json", "build/abi.ts", "package.json"];

test("dependencies point down, from the screen and the outputs to what flows", () => {
  const wrong = sources.flatMap((file) => {
    const layer = Object.keys(LAYERS).find((folder) => file.startsWith(folder));
    if (layer === undefined)
      return /^src\/(cli|start|commands\/[a-z]+)\.ts$/.test(file) ? [] : [`${file} is in no layer`];
    const allowed = [layer, ...(LAYERS[layer] ?? []), ...FACTS];
    return importsOf(file)
      .filter(({ to }) => !allowed.some((prefix) => to.startsWith(prefix)))
      .map(({ from, to }) => `${from} imports ${to}`);
  });
  expect(wrong).toEqual([]);
});

test("only one file loads the addon", () => {
  const importers = sources.filter((file) => read(file).includes("polytop.node"));
  expect(importers).toEqual(["src/addon/binding.ts"]);
});

test("Ink is met in one room, by its public door, in the version that it was measured with", () => {
  const importers = sources.filter((file) => /from "(ink|ink-table|react)[/"]/.test(read(file)));
  expect(importers.filter((file) => !file.startsWith("src/terminal/"))).toEqual([]);
  expect(sources.filter((file) => /node_modules|"ink\//.test(read(file)))).toEqual([]);
  expect(JSON.parse(read("package.json")).dependencies.ink).toMatch(/^\d/);
});

/** The first circle that is found from each file of a graph, as `a → b → a`. */
function circlesOf(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(" → "));
    if (path.includes(file) || done.has(file)) return;
    for (const next of graph.get(file) ?? []) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  return circles;
}

test("modules do not import each other in a circle", () => {
  const valuesOf = (file: string): string[] =>
    importsOf(file)
      .filter(({ isType }) => !isType)
      .map(({ to }) => to);
  expect(circlesOf(new Map(sources.map((file) => [file, valuesOf(file)])))).toEqual([]);
});

/** C and C++ files that a file of ours includes: beside it, or relative to native/ or to the top. */
function includesOf(file: string): string[] {
  const names = [...read(file).matchAll(/^#include "([^"]+)"/gm)].map((match) => match[1] ?? "");
  return names.flatMap((name) => {
    const places = [join(dirname(file), name), join("native", name), name];
    return places.filter((place) => nativeSources.includes(place)).slice(0, 1);
  });
}

test("C and C++ files do not include each other in a circle", () => {
  expect(circlesOf(new Map(nativeSources.map((file) => [file, includesOf(file)])))).toEqual([]);
});

test("only js/ knows that there is JavaScript", () => {
  const users = nativeSources.filter((file) => read(file).includes("napi.h"));
  expect(users.filter((file) => !file.startsWith("native/js/"))).toEqual([]);
});

/** The folders in which no processor is named, each with the places in it that are there for that. */
const PROCESSOR_PLACES: Readonly<Record<string, readonly string[]>> = {
  "bpf/": ["bpf/arch/"],
  "native/": ["native/arch/"],
  "src/": ["src/machine/architecture.ts"],
};
const PROCESSOR_WORDS =
  /\w*(x86|amd64)\w*|\bx64\b|\b(k|Dwarf|kDwarf)?(?:[re](?:[abcd]x|[sd]i|[sb]p|ip)|r(?:1[0-5]|[89])|[xyz]mm\d*)\b/i;

test("processors are named in few places; elsewhere registers are known by their role", () => {
  const wrong = Object.entries(PROCESSOR_PLACES).flatMap(([folder, places]) =>
    globSync(`${folder}**/*.{ts,tsx,c,h,cpp}`, { cwd: root })
      .filter((file) => !places.some((place) => file.startsWith(place)))
      .flatMap((file) => {
        const lines = read(file).split("\n");
        return lines.filter((line) => PROCESSOR_WORDS.test(line)).map((line) => `${file}: ${line}`);
      }),
  );
  expect(wrong).toEqual([]);
});

/** Runtimes, by what code calls them; their folders, and their files for each processor, are their own. */
const RUNTIME_WORDS: Readonly<Record<string, RegExp>> = {
  python: /python/i,
  v8: /(?<!node:|arm)v8|\bjavascript\b(?! of polytop)/i,
};
/** The most files that a runtime is entered in outside of its folders. */
const MOST_ENTRIES = 12;

const withoutComments = (text: string): string =>
  text.replace(/\/\*(?:.|\n)*?\*\/|(?<=^|\s)\/\/.*$/gm, "");

test.each(Object.entries(RUNTIME_WORDS))("%s is entered in few files of others", (name, words) => {
  const isOwn = new RegExp(`/(${name}|javascript)/|^bpf/arch/[a-z0-9]+_${name}.h$`);
  const entries = [...sources, ...nativeSources, "bpf/counters.json", "Makefile"].filter(
    (file) => !isOwn.test(file) && words.test(withoutComments(read(file))),
  );
  expect(entries.length, entries.join("\n")).toBeLessThanOrEqual(MOST_ENTRIES);
});

test("a folder can be taken in at a glance", () => {
  const sizes = new Map<string, number>();
  for (const file of [...sources, ...nativeSources])
    sizes.set(dirname(file), (sizes.get(dirname(file)) ?? 0) + 1);
  expect([...sizes].filter(([, count]) => count > MOST_FILES)).toEqual([]);
});

test("no file is too long to be read in one go", () => {
  const files = globSync("{src,bpf,native,test,bin,release}/**/*.{ts,tsx,mjs,c,h,cpp}", {
    cwd: root,
  });
  const long = files.filter((file) => read(file).split("\n").length > 401);
  expect(long).toEqual([]);
});

test.each([
  ["bpf/sample.h", "dist/polytop.bpf.o"],
  ["native/drain/drain.h", "dist/polytop.node"],
  ["native/parser/protocol.h", "dist/polytop-parser"],
])("%s makes %s anew when it changes", (header, product) => {
  const args = ["--dry-run", `--what-if=${header}`, product];
  expect(execFileSync("make", args, { cwd: root, encoding: "utf8" })).toContain(
    `-o ${product}.new`,
  );
});

test("the lock file names no server to download from", () => {
  expect(read("package-lock.json")).not.toMatch(/https?:\/\/[^"]*\.tgz/);
});
