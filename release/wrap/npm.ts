/** The npm packages: polytop, and the native part, which npm installs where it fits the machine. No install scripts. */
import {
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
import { root } from "../../test/support/polytop.ts";
import { OUT, type ReleaseFacts, WORK } from "../facts.ts";
import { sh } from "../shell.ts";
import { chmodTree, nativeFiles, TREE, writeRelease } from "../tree.ts";

const NATIVE = "@polytop/linux-x64";

const write = (folder: string, manifest: object): void =>
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);

/** The package of the native part; its files. */
function layOutNative(folder: string, { version, description }: ReleaseFacts): string[] {
  mkdirSync(folder, { recursive: true });
  const files = nativeFiles().map((file) => basename(file));
  for (const name of [...files, "../LICENSE"])
    copyFileSync(join(TREE, "lib", name), join(folder, basename(name)));
  // Where npm puts it there is a C library that it can have instead of its own.
  copyFileSync(join(WORK, "polytop-parser"), join(folder, "polytop-parser"));
  const copyrights = join(folder, "licenses");
  mkdirSync(copyrights);
  for (const name of readdirSync(join(TREE, "licenses")))
    if (!/^(npm-|node$)/.test(name))
      copyFileSync(join(TREE, "licenses", name), join(copyrights, name));
  write(folder, {
    name: NATIVE,
    version,
    description: `The native part of polytop for Linux on x86-64: ${description.split(":")[0]}`,
    license: "Apache-2.0",
    os: ["linux"],
    cpu: ["x64"],
    libc: ["glibc"],
    files: [...files, "licenses"],
    // Programs and libraries must lie on a disk, not in an archive.
    preferUnplugged: true,
  });
  return files.map((name) => join(folder, name));
}

function layOutMain(folder: string, facts: ReleaseFacts, native: readonly string[]): void {
  const dist = join(folder, "dist");
  mkdirSync(dist, { recursive: true });
  for (const file of globSync(join(TREE, "lib/*.js")))
    copyFileSync(file, join(dist, basename(file)));
  cpSync(join(TREE, "share"), join(folder, "share"), { recursive: true });
  mkdirSync(join(folder, "bin"));
  copyFileSync(join(root, "bin/polytop"), join(folder, "bin/polytop"));
  for (const name of ["LICENSE", "README.md", "CHANGELOG.md"])
    copyFileSync(join(root, name), join(folder, name));
  mkdirSync(join(folder, "licenses"));
  for (const file of globSync(join(TREE, "licenses/npm-*")))
    copyFileSync(file, join(folder, "licenses", basename(file)));
  writeRelease(dist, "npm", facts, native);
  const { name, description, license, type, bin, engines, os } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  ) as Readonly<Record<string, unknown>>;
  const { version } = facts;
  write(folder, {
    ...{ name, version, description, license, type, bin, engines, os },
    man: "share/man/man1/polytop.1",
    files: ["bin", "dist", "share", "licenses", "CHANGELOG.md"],
    optionalDependencies: { [NATIVE]: version },
  });
}

/** Writes both. */
export async function makeNpm(facts: ReleaseFacts): Promise<void> {
  const folder = join(WORK, "npm");
  rmSync(folder, { recursive: true, force: true });
  const native = layOutNative(join(folder, "native"), facts);
  layOutMain(join(folder, "main"), facts, native);
  chmodTree(folder);
  for (const name of ["native", "main"])
    await sh('npm pack --silent --pack-destination "$1" >&2', [OUT], { cwd: join(folder, name) });
}
