/** How polytop came onto this machine, which decides what mends it. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { whereNativeFiles } from "./native-folder.ts";

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
export function readInstallation(bundle = BUNDLE): Installation {
  const release = readRelease(bundle);
  const way = release?.way ?? "clone";
  const folder = way === "deb" || way === "rpm" || way === "container" ? bundle : dirname(bundle);
  return {
    way,
    folder: folder.replace(/\/$/, ""),
    damage: damageOf(bundle, release),
    ...(release ? { release } : {}),
  };
}

function damageOf(bundle: string, release: Release | undefined): string {
  const native = whereNativeFiles(bundle);
  if (native === undefined) return "the native part is missing";
  for (const [name, sum] of Object.entries(release?.files ?? {})) {
    const path = [bundle, native].map((it) => join(it, name)).find(existsSync);
    if (path === undefined) return `${name} is missing`;
    if (sum !== sumOf(path)) return `${path} is not as it was released`;
  }
  return "";
}

function sumOf(path: string): string {
  try {
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
