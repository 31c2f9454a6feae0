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

/**
 * The layers from the ground up, each with the others that it may import: dependencies point down. Facts that the
 * kernel side shares (bpf/*.json) and package.json may be known to any.
 */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  "src/tick/": [],
  "src/machine/": ["src/tick/"],
  "src/addon/": ["src/tick/"],
  "src/recording/": ["src/tick/"],
  "src/runtimes/": ["src/tick/", "src/addon/", "src/machine/"],
  "src/collector/": ["src/tick/", "src/addon/", "src/machine/", "src/runtimes/"],
  "src/sources/": ["src/tick/", "src/addon/", "src/machine/", "src/recording/", "src/collector/"],
  "src/model/": ["src/tick/"],
  "src/text/": ["src/tick/", "src/model/"],
  "src/output/": ["src/tick/", "src/model/", "src/text/", "src/recording/"],
  "src/terminal/": ["src/text/"],
  "src/screen/": ["src/tick/", "src/machine/", "src/model/", "src/text/", "src/terminal/"],
  "src/doctor/": ["src/tick/", "src/machine/"],
  "src/options/": ["src/tick/", "src/model/"],
};

const FACTS = ["bpf/counters.json", "package.json"];

test("dependencies point down, from the screen and the outputs to what flows", () => {
  const wrong = sources.flatMap((file) => {
    const layer = Object.keys(LAYERS).find((folder) => file.startsWith(folder));
    if (layer === undefined) return file === "src/cli.ts" ? [] : [`${file} is in no layer`];
    const allowed = [layer, ...(LAYERS[layer] ?? []), ...FACTS];
    return importsOf(file)
      .filter(({ to }) => !allowed.some((prefix) => to.startsWith(prefix)))
      .map(({ from, to }) => `${from} imports ${to}`);
  });
  expect(wrong).toEqual([]);
});

test("only one file loads the addon", () => {
  const importers = sources.filter((file) => read(file).includes("polytop.node"));
  expect(importers).toEqual(["src/addon/sampler.ts"]);
});

test("Ink is met in one room, by its public door, in the version that it was measured with", () => {
  const importers = sources.filter((file) => /from "(ink|ink-table|react)[/"]/.test(read(file)));
  expect(importers.filter((file) => !file.startsWith("src/terminal/"))).toEqual([]);
  expect(sources.filter((file) => /node_modules|"ink\//.test(read(file)))).toEqual([]);
  expect(JSON.parse(read("package.json")).dependencies.ink).toMatch(/^\d/);
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
