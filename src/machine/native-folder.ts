/** Finds what is no JavaScript: the addon, the BPF objects and the programs that it starts. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { arch, platform } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { EXIT_CANNOT, UserError } from "../tick/errors.ts";

const BUNDLE = fileURLToPath(new URL(".", import.meta.url));

/** A file of the native part whose presence stands for all. */
const SAMPLER = "polytop.bpf.o";

/** npm installs it where it fits the machine. */
const PACKAGE = `@polytop/${platform()}-${arch()}`;

/** The folder of the native files: the bundle's own, or a package beside that of the bundle; undefined: there is none. */
export function whereNativeFiles(bundle = BUNDLE): string | undefined {
  if (existsSync(join(bundle, SAMPLER))) return bundle;
  try {
    return dirname(createRequire(join(bundle, "cli.js")).resolve(`${PACKAGE}/package.json`));
  } catch {
    return undefined;
  }
}

/** Finds the folder of native files; throws a UserError where there is none. */
export function nativeFolder(bundle = BUNDLE): string {
  const found = whereNativeFiles(bundle);
  if (found !== undefined) return found;
  throw new UserError(
    `the native part for ${platform()} on ${arch()} is not installed: ${PACKAGE} is missing\n` +
      "npm installs it on Linux with glibc: npm install -g polytop, without --omit=optional; a tar.xz of a release runs with musl too",
    EXIT_CANNOT,
  );
}

/** The object with the sampling program. */
export const samplingObject = (): string => join(nativeFolder(), SAMPLER);

/** The object with the programs that visit waiting threads. */
export const waitObject = (): string => join(nativeFolder(), "wait.bpf.o");
