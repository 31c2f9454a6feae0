/** The one folder that all wrappings hold: launcher, bundle, native part, Node, a C library, licences. */
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import type { Release, Way } from "../src/machine/installation.ts";
import { root } from "../test/support/polytop.ts";
import { buildInfo } from "./build-info.ts";
import { GLIBC, type ReleaseFacts, WORK } from "./facts.ts";
import { writeLicences } from "./licences.ts";
import { neededLibraries } from "./native/dynamic-symbols.ts";
import { sh } from "./shell.ts";
import { bashCompletion, fishCompletion, zshCompletion } from "./text/completion.ts";
import { manual } from "./text/manual.ts";

export const TREE = join(WORK, "tree/polytop");

/** What starts where the system has no C library that will do: the loader first. */
const C_LIBRARY = [
  "ld-linux-x86-64.so.2",
  "libc.so.6",
  "libm.so.6",
  "libdl.so.2",
  "libpthread.so.0",
  "libstdc++.so.6",
  "libgcc_s.so.1",
];

/** The files of dist/ that are no JavaScript, in the form that a release has them in. */
export function nativeFiles(): readonly string[] {
  const names = readdirSync(join(root, "dist")).filter((name) => !name.endsWith(".js"));
  return names.map((name) =>
    name === "polytop.node" ? join(WORK, name) : join(root, "dist", name),
  );
}

/** Programs have no way of their own to find libraries: they must not need any. */
function checkPrograms(files: readonly string[]): void {
  for (const file of files.filter((it) => !/\.(o|node)$/.test(it))) {
    const needed = neededLibraries(file);
    if (needed.length > 0) throw new Error(`${file} must be static, but needs ${needed.join(" ")}`);
  }
}

/** Puts the folder together. */
export async function makeTree(facts: ReleaseFacts): Promise<void> {
  rmSync(TREE, { recursive: true, force: true });
  const lib = join(TREE, "lib");
  mkdirSync(join(lib, "glibc"), { recursive: true });
  const native = nativeFiles();
  checkPrograms(native);
  for (const file of [...globSync(join(root, "dist/*.js")), ...native])
    copyFileSync(file, join(lib, basename(file)));
  writeFileSync(join(lib, "package.json"), '{ "type": "module" }\n');
  await sh('strip -o "$1" node_modules/node/bin/node', [join(lib, "node")]);
  for (const name of C_LIBRARY)
    await sh('cp -L "$(gcc -print-file-name="$1")" "$2"', [name, join(lib, "glibc")]);
  copyFileSync(join(root, "bin/polytop"), join(TREE, "polytop"));
  for (const name of ["LICENSE", "README.md", "CHANGELOG.md"])
    copyFileSync(join(root, name), join(TREE, name));
  writeShare(join(TREE, "share"), facts);
  mkdirSync(join(TREE, "share/polytop"), { recursive: true });
  const schema = "snapshot.schema.json";
  copyFileSync(join(root, "docs", schema), join(TREE, "share/polytop", schema));
  await writeLicences(join(TREE, "licenses"));
  writeFileSync(join(TREE, "BUILDINFO"), await buildInfo(facts));
  writeRelease(lib, "tarball", facts);
  chmodTree(TREE);
}

/** The manual page and what completes the command line, where programs look for them below /usr. */
function writeShare(share: string, facts: ReleaseFacts): void {
  const files: Readonly<Record<string, string>> = {
    "man/man1/polytop.1": manual(facts),
    "bash-completion/completions/polytop": bashCompletion(),
    "zsh/site-functions/_polytop": zshCompletion(),
    "fish/vendor_completions.d/polytop.fish": fishCompletion(),
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(share, path, ".."), { recursive: true });
    writeFileSync(join(share, path), text);
  }
}

/** Says in a folder of the bundle how this one is installed, and what each file must be; `others`: files of other folders. */
export function writeRelease(
  lib: string,
  way: Way,
  { commit }: ReleaseFacts,
  others: readonly string[] = [],
): void {
  const names = readdirSync(lib, { withFileTypes: true }).flatMap((entry) =>
    entry.isFile() && entry.name !== "release.json" ? [join(lib, entry.name)] : [],
  );
  const sums = [...names, ...others].sort().map((path) => {
    const sum = createHash("sha256").update(readFileSync(path)).digest("hex");
    return [basename(path), sum] as const;
  });
  const release: Release = { way, commit, glibc: GLIBC, files: Object.fromEntries(sums) };
  writeFileSync(join(lib, "release.json"), `${JSON.stringify(release, undefined, 1)}\n`);
}

/** Everybody may read all and change nothing; programs may be executed, whatever the umask is. */
export function chmodTree(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    chmodSync(path, entry.isDirectory() || isProgram(path) ? 0o755 : 0o644);
  }
  chmodSync(folder, 0o755);
}

/** A script, or an ELF file that is a program: the addon and the libraries are loaded, not started. */
function isProgram(path: string): boolean {
  if (/\.(o|node|js|so\.\d+)$/.test(path) && !basename(path).startsWith("ld-")) return false;
  const head = readFileSync(path).subarray(0, 4).toString("latin1");
  return head.startsWith("#!") || head === "\x7fELF";
}

/** Copies the folder's parts as a system's package has them, below a root folder. */
export function stage(target: string, way: Way, facts: ReleaseFacts): void {
  rmSync(target, { recursive: true, force: true });
  const lib = join(target, "usr/lib/polytop");
  cpSync(join(TREE, "lib"), lib, { recursive: true });
  rmSync(join(lib, "glibc"), { recursive: true });
  mkdirSync(join(target, "usr/bin"), { recursive: true });
  copyFileSync(join(TREE, "polytop"), join(target, "usr/bin/polytop"));
  cpSync(join(TREE, "share"), join(target, "usr/share"), { recursive: true });
  const doc = join(target, "usr/share/doc/polytop");
  mkdirSync(doc, { recursive: true });
  for (const name of ["README.md", "CHANGELOG.md", "BUILDINFO", "licenses"])
    cpSync(join(TREE, name), join(doc, name), { recursive: true });
  copyFileSync(join(TREE, "LICENSE"), join(doc, "copyright"));
  writeRelease(lib, way, facts);
  chmodTree(target);
}
