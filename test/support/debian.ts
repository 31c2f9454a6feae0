/** Packages of Debian's releases, unpacked side by side and run with chroot. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { exclusively } from "./exclusive.ts";
import { root } from "./polytop.ts";

/** Where they are unpacked: outside of the repository, kept from run to run. */
export const debianCache = process.env.POLYTOP_PERLS ?? `${homedir()}/.cache/polytop/perls`;

const FETCH_MILLISECONDS = 300_000;

/** What is wanted of a release. */
export interface Unpacked {
  /** The name of its folder in the cache. */
  readonly name: string;
  readonly suite: string;
  /** All that they depend on comes with them. */
  readonly packages: readonly string[];
}

/** The folder of the cache to chroot into, filled at its first use. */
export const unpackDebian = (wanted: Unpacked): { root: string } | string =>
  exclusively(`debian-${wanted.name}`, () => unpacked(wanted));

function unpacked({ name, suite, packages }: Unpacked): { root: string } | string {
  if (process.getuid?.() !== 0) return "chroot needs root";
  const folder = `${debianCache}/${name}`;
  if (existsSync(folder)) return { root: folder };
  mkdirSync(debianCache, { recursive: true });
  try {
    execFileSync(`${root}test/support/fetch-debian`, [debianCache, name, suite, ...packages], {
      stdio: "ignore",
      timeout: FETCH_MILLISECONDS,
    });
  } catch {
    return `${packages.join(", ")} cannot be fetched from Debian's ${suite} into ${debianCache}`;
  }
  return { root: folder };
}
