/** What a release was made with: who has the same makes the same bytes. */
import { GLIBC, type ReleaseFacts } from "./facts.ts";
import { sh } from "./shell.ts";

/** The packages whose versions decide over the bytes. */
const TOOLCHAIN =
  "binutils clang-19 dpkg g++-12 gzip libc6 libc6-dev libgcc-s1 liblzma-dev libstdc++-12-dev libstdc++6 libzstd-dev llvm-19 llvm-19-dev make musl-dev musl-tools rpm tar umoci xz-utils zlib1g-dev";

/** The text of BUILDINFO. */
export async function buildInfo({ version, commit, epoch }: ReleaseFacts): Promise<string> {
  const packages = await sh(
    `{ dpkg-query -W -f '\${Package} \${Version} \${db:Status-Status}\\n' ${TOOLCHAIN} 2>/dev/null || :; } | sed -n 's/ installed$//p'`,
  );
  const sources = await sh("cd build/release/sources && ls elfutils*.dsc libbpf*.dsc");
  return [
    `polytop ${version}`,
    `commit ${commit}`,
    `SOURCE_DATE_EPOCH ${epoch}`,
    `glibc ${GLIBC} or later`,
    `node ${process.version.slice(1)}`,
    "",
    "Debian's sources of the static libraries:",
    sources.trim(),
    "",
    "Debian's packages of the tools and libraries:",
    packages.trim(),
    "",
  ].join("\n");
}
