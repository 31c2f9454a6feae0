/** What holds for the whole tree of sources. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";
import { root } from "../support/polytop.ts";

const read = (path: string): string => readFileSync(join(root, path), "utf8");
const sources = globSync("src/**/*.{ts,tsx}", { cwd: root });

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

/** What flows through everything: any layer may know these. */
const SHARED = [
  "src/collector/tick.ts",
  "src/collector/plain-counts.ts",
  "src/collector/function-code.ts",
  "src/collector/source.ts",
  "src/runtimes/clean-name.ts",
  "src/errors.ts",
  "src/numbers.ts",
  "package.json",
];

/** Layers and what they may import besides themselves: dependencies point down. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  // The one part of Ink that the screen goes around; see the comment there.
  "src/screen/": ["src/model/", "bpf/counters.json", "node_modules/ink/build/output.js"],
  "src/output/": ["src/model/", "src/recording/", "bpf/counters.json"],
  "src/model/": ["bpf/counters.json"],
  "src/collector/": ["src/runtimes/", "src/recording/", "bpf/counters.json"],
  "src/recording/": [],
  // What the addon and the thread's messages look like.
  "src/runtimes/": ["src/collector/sampler.ts", "src/collector/wire.ts", "bpf/counters.json"],
};

test("dependencies point down: screen and output to model, collector to runtimes", () => {
  const wrong = sources.flatMap((file) => {
    const layer = Object.keys(LAYERS).find((folder) => file.startsWith(folder));
    if (layer === undefined) return [];
    const allowed = [layer, ...(LAYERS[layer] ?? []), ...SHARED];
    return importsOf(file)
      .filter(({ to }) => !to.startsWith("node_modules/"))
      .filter(({ to }) => !allowed.some((prefix) => to.startsWith(prefix)))
      .map(({ from, to }) => `${from} imports ${to}`);
  });
  expect(wrong).toEqual([]);
});

test("only the collector loads the addon", () => {
  const importers = sources.filter((file) => read(file).includes("polytop.node"));
  expect(importers.filter((file) => !file.startsWith("src/collector/"))).toEqual([]);
  expect(importers.length).toBeLessThanOrEqual(1);
});

test("modules do not import each other in a circle", () => {
  const graph = new Map(
    sources.map((file) => [
      file,
      importsOf(file)
        .filter(({ isType }) => !isType)
        .map(({ to }) => to),
    ]),
  );
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(" → "));
    if (path.includes(file) || done.has(file)) return;
    for (const next of graph.get(file) ?? []) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of sources) visit(file, []);
  expect(circles).toEqual([]);
});

test("no file is too long to be read in one go", () => {
  const files = globSync("{src,bpf,native,test,bin}/**/*.{ts,tsx,mjs,c,h,cpp}", { cwd: root });
  const long = files.filter((file) => read(file).split("\n").length > 401);
  expect(long).toEqual([]);
});

test("the lock file names no server to download from", () => {
  expect(read("package-lock.json")).not.toMatch(/https?:\/\/[^"]*\.tgz/);
});
