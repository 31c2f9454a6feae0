/** The inputs that are kept: one archive for each harness in test/fuzz/corpus. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../support/polytop.ts";

const folder = join(root, "test/fuzz/corpus");

const archive = (name: string): string => join(folder, `${name}.tar.xz`);

/** Names of all harnesses of which there are inputs. */
export const keptCorpora = (): string[] =>
  existsSync(folder) ? readdirSync(folder).map((file) => file.replace(".tar.xz", "")) : [];

/** Unpacks what is kept for a harness into a folder, which is made. */
export function unpack(name: string, into: string): void {
  mkdirSync(into, { recursive: true });
  if (existsSync(archive(name))) execFileSync("tar", ["-xJf", archive(name), "-C", into]);
}

/** Keeps the files of a folder in place of what was kept for a harness. */
export function keep(name: string, from: string): void {
  mkdirSync(folder, { recursive: true });
  rmSync(archive(name), { force: true });
  // The same files make the same archive.
  const same = [
    "--sort=name",
    "--mtime=@0",
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--mode=0644",
  ];
  execFileSync("tar", [...same, "-cJf", archive(name), "-C", from, "."], {
    env: { ...process.env, XZ_OPT: "-9e" },
  });
}
