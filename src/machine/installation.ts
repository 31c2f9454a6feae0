/** How polytop came onto this machine, which decides what mends it. */
import type * as Crypto from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { EXIT_CANNOT, UserError } from "../tick/errors.ts";
import { isCutOff } from "./elf-file.ts";
import { nativeFolder, whereNativeFiles } from "./native-folder.ts";

/** The ways in which polytop is installed. */
export type Way = "clone" | "npm" | "tarball" | "deb" | "rpm" | "container";

/** What a release knows of itself: the file beside the bundle that release/ writes. A clone has none. */
export interface Release {
  readonly way: Way;
  readonly commit: string;
  /** The oldest glibc that it starts on. */
  readonly glibc: string;
  /** SHA-256 of each file beside it, and of those of the native package. */
  readonly files: Readonly<Record<string, string>>;
}

/** One installation. */
export interface Installation {
  readonly way: Way;
  /** The folder that a person would name. */
  readonly folder: string;
  readonly release?: Release;
  /** What is missing or not as it was released, in words; empty: nothing. */
  readonly damage: string;
}

const BUNDLE = fileURLToPath(new URL(".", import.meta.url));

/** What the release says of itself; undefined in a clone. */
export function readRelease(bundle = BUNDLE): Release | undefined {
  try {
    return JSON.parse(readFileSync(join(bundle, "release.json"), "utf8")) as Release;
  } catch {
    return undefined;
  }
}

/** Looks at the installation; reads each of its files. */
export const readInstallation = (bundle = BUNDLE): Installation => describe(bundle, () => true);

function describe(bundle: string, isMeant: (name: string) => boolean): Installation {
  const release = readRelease(bundle);
  const way = release?.way ?? "clone";
  const folder = way === "deb" || way === "rpm" || way === "container" ? bundle : dirname(bundle);
  return {
    way,
    folder: folder.replace(/\/$/, ""),
    damage: damageOf(bundle, release, isMeant),
    ...(release ? { release } : {}),
  };
}

/** The file that is loaded into polytop's own process: damaged it ends that by a signal, without a word. */
const isAddon = (name: string): boolean => name.endsWith(".node");

/** The others that are no JavaScript: what the kernel gets, and programs that polytop starts. */
const isNative = (name: string): boolean => /^polytop[.-]|\.bpf\.o$/.test(name);

/**
 * Throws a UserError where the addon is not whole. Takes some milliseconds; a clone has no sums, and only what was cut
 * off is told.
 */
export const checkAddon = (bundle = BUNDLE): void => refuseDamage(bundle, isAddon);

/** Does that for all native files. */
export const checkNativeFiles = (bundle = BUNDLE): void => refuseDamage(bundle, isNative);

function refuseDamage(bundle: string, isMeant: (name: string) => boolean): void {
  nativeFolder(bundle);
  const installation = describe(bundle, isMeant);
  if (installation.damage === "") return;
  throw new UserError(
    `the installation is damaged: ${installation.damage}\nmend: ${howToMend(installation)}`,
    EXIT_CANNOT,
  );
}

function damageOf(
  bundle: string,
  release: Release | undefined,
  isMeant: (name: string) => boolean,
): string {
  const native = whereNativeFiles(bundle);
  if (native === undefined) return "the native part is missing";
  const addons = readdirSync(native).filter(isAddon);
  const short = addons.map((name) => join(native, name)).find(isCutOff);
  if (short !== undefined) return `${short} is cut off`;
  for (const [name, sum] of Object.entries(release?.files ?? {})) {
    if (!isMeant(name)) continue;
    const path = [bundle, native].map((it) => join(it, name)).find(existsSync);
    if (path === undefined) return `${name} is missing`;
    if (sum !== sumOf(path)) return `${path} is not as it was released`;
  }
  return "";
}

function sumOf(path: string): string {
  try {
    // Who has sums to check waits for OpenSSL, a fiftieth of a second; the others do not.
    const { createHash } = createRequire(import.meta.url)("node:crypto") as typeof Crypto;
    return createHash("sha256").update(readFileSync(path)).digest("hex");
  } catch (error) {
    return String(error);
  }
}

/** What makes an installation whole again. */
export function howToMend({ way, folder }: Pick<Installation, "way" | "folder">): string {
  const mends: Readonly<Record<Way, string>> = {
    clone: `rm -rf ${folder}/dist && npm run build, in ${folder}`,
    npm: "npm install -g polytop, without --omit=optional",
    tarball: "download it again, check it (sha256sum -c SHA256SUMS) and unpack it anew",
    deb: "apt-get install --reinstall polytop, or dpkg -i of the file",
    rpm: "dnf reinstall polytop, or rpm -U --force of the file",
    container: "load the image again: docker load -i polytop-…-oci.tar",
  };
  return mends[way];
}

/** How a user becomes root for it. */
export function howToBeRoot({ way, folder }: Pick<Installation, "way" | "folder">): string {
  const commands: Readonly<Record<Way, string>> = {
    clone: "sudo polytop",
    npm: 'sudo "$(command -v polytop)"',
    tarball: `sudo ${folder}/polytop`,
    deb: "sudo polytop",
    rpm: "sudo polytop",
    container: IN_CONTAINER,
  };
  return commands[way];
}

/** What a container lacks, it is given from outside. */
export const IN_CONTAINER = "docker run --privileged --pid=host … (or the like of it)";
