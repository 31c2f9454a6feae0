/** The package for Debian, Ubuntu and what is made of them. */
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GLIBC, OUT, type ReleaseFacts, WORK } from "../facts.ts";
import { sh } from "../shell.ts";
import { stage } from "../tree.ts";

const kilobytes = (folder: string): number =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce(
      (sum, { parentPath, name }) => sum + Math.ceil(statSync(join(parentPath, name)).size / 1024),
      0,
    );

/** What polytop itself wrote goes with it: dpkg knows nothing of that. Before the removal: dpkg keeps a record of a package with a postrm. */
export const REMOVE_CACHE = "rm -rf /var/cache/polytop";

const control = ({ version, description }: ReleaseFacts, size: number): string =>
  [
    "Package: polytop",
    `Version: ${version}`,
    "Architecture: amd64",
    "Maintainer: polytop <polytop@localhost>",
    `Installed-Size: ${size}`,
    `Depends: libc6 (>= ${GLIBC}), libstdc++6 (>= 8), libgcc-s1 | libgcc1`,
    "Section: utils",
    "Priority: optional",
    `Description: ${(description.split(":")[0] ?? "").replace(/^./, (it) => it.toLowerCase())}`,
    " Samples all CPUs with eBPF. Functions of Perl, Python, .NET, native code and the",
    " kernel stand in one list, with complete stacks; nothing is restarted,",
    " instrumented or attached to.",
    "",
  ].join("\n");

/** Writes it. */
export async function makeDeb(facts: ReleaseFacts): Promise<void> {
  const folder = join(WORK, "deb");
  stage(folder, "deb", facts);
  await layOutForDebian(folder);
  mkdirSync(join(folder, "DEBIAN"));
  const size = kilobytes(join(folder, "usr"));
  writeFileSync(join(folder, "DEBIAN/control"), control(facts, size));
  const script = `#!/bin/sh\nset -e\ncase "$1" in remove) ${REMOVE_CACHE} ;; esac\n`;
  writeFileSync(join(folder, "DEBIAN/prerm"), script, { mode: 0o755 });
  await sh(
    'cd "$1/usr" && find . -type f -printf "%P\\n" | LC_ALL=C sort | sed "s,^,usr/," | (cd .. && xargs -d "\\n" md5sum) >../DEBIAN/md5sums',
    [folder],
  );
  const compressor = facts.isQuick ? "-Zgzip -z1" : "-Zxz -z9";
  await sh(
    `nice dpkg-deb --root-owner-group ${compressor} --threads-max=1 --build "$1" "$2"`,
    [folder, join(OUT, `polytop_${facts.version}_amd64.deb`)],
    { env: { SOURCE_DATE_EPOCH: String(facts.epoch) } },
  );
  rmSync(folder, { recursive: true });
}

/** Debian compresses manual pages, and looks for completions of zsh in a place of its own. */
async function layOutForDebian(folder: string): Promise<void> {
  await sh(
    'gzip -9n "$1"/man/man1/polytop.1 && cd "$1/zsh" && mv site-functions vendor-completions',
    [join(folder, "usr/share")],
  );
}
