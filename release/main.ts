/**
 * Makes the files of a release in out/: `npm run release`. The same commit, Debian packages and lock file: the same bytes.
 *   --quick   packs fast instead of small, leaves out tar.xz, rpm and the sources: for tests
 *   --test    tries what is in out/ instead (test/tools/release/); names behind it choose rows
 */
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { OUT, type ReleaseFacts, readReleaseFacts, WORK } from "./facts.ts";
import { sh, timed } from "./shell.ts";
import { makeTree } from "./tree.ts";
import { makeDeb } from "./wrap/deb.ts";
import { makeNpm } from "./wrap/npm.ts";
import { makeOci } from "./wrap/oci.ts";
import { makeRpm } from "./wrap/rpm.ts";
import { makeTarball, SAME_BYTES } from "./wrap/tarball.ts";

/** Programs by the Debian packages that bring them, busybox to try a release; the build's own are installed already. */
const NEEDED = {
  "dpkg-dev": "/usr/bin/dpkg-source",
  rpm: "/usr/bin/rpmbuild",
  umoci: "/usr/bin/umoci",
  "xz-utils": "/usr/bin/xz",
  bzip2: "/bin/bzip2",
  m4: "/usr/bin/m4",
  "busybox-static": "/bin/busybox",
};

async function installTools(): Promise<void> {
  const missing = Object.entries(NEEDED).flatMap(([name, file]) => (existsSync(file) ? [] : name));
  if (missing.length === 0) return;
  const install = "DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends";
  await sh(`${install} "$@" >&2 || { apt-get update >&2 && ${install} "$@" >&2; }`, missing);
}

/** The sources of what licences ask that of: elfutils is linked in, glibc and the libraries of GCC come along. */
async function makeSources({ version, epoch }: ReleaseFacts): Promise<void> {
  const folder = join(WORK, "sources");
  await sh('release/fetch-sources "$1" libelf-dev libbpf-dev libc6 libstdc++6', [folder]);
  const env = { SOURCE_DATE_EPOCH: String(epoch) };
  const into = join(OUT, `polytop-${version}-sources.tar`);
  await sh(`cd "$1" && tar ${SAME_BYTES} -c *.dsc *.tar.*`, [folder], { env, into });
}

type Makers = Readonly<Record<string, (facts: ReleaseFacts) => Promise<void>>>;

/** What takes a minute or a download. */
const SLOW: Makers = {
  "tar.xz": (facts) => makeTarball("xz", facts),
  sources: makeSources,
  rpm: makeRpm,
};

async function makeInTurn(facts: ReleaseFacts, makers: Makers): Promise<void> {
  for (const [name, make] of Object.entries(makers)) await timed(name, () => make(facts));
}

async function make(isQuick: boolean): Promise<void> {
  await timed("tools", installTools);
  const facts = await readReleaseFacts(isQuick);
  mkdirSync(WORK, { recursive: true });
  rmSync(OUT, { recursive: true, force: true });
  mkdirSync(OUT);
  await timed("static libraries, addon", () => sh('make -s "-j$(nproc)" -f release/native.mk'));
  await timed("the folder", () => makeTree(facts));
  await Promise.all([
    makeInTurn(facts, { "tar.gz": (it) => makeTarball("gz", it), npm: makeNpm, deb: makeDeb }),
    makeInTurn(facts, { oci: makeOci, ...(isQuick ? {} : SLOW) }),
  ]);
  await sh("sha256sum polytop* >SHA256SUMS", [], { cwd: OUT });
  console.log(await sh("ls -l", [], { cwd: OUT }));
}

const { values, positionals: names } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    test: { type: "boolean", default: false },
  },
  allowPositionals: true,
});
if (values.test) {
  const { tryRelease } = await import("../test/tools/release/main.ts");
  process.exit((await tryRelease({ isQuick: values.quick, names })) ? 0 : 1);
}
await timed("in all", () => make(values.quick));
