/** The package for Fedora, RHEL 8 and later, and what is made of them. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GLIBC, OUT, type ReleaseFacts, WORK } from "../facts.ts";
import { sh } from "../shell.ts";
import { stage } from "../tree.ts";
import { REMOVE_CACHE } from "./deb.ts";

/**
 * Requirements by hand: those that rpmbuild finds are named as on the building system. Nothing is stripped again,
 * nor are links made by build ids.
 */
const specification = (
  { version, description }: ReleaseFacts,
  staged: string,
): string => `Name: polytop
Version: ${version}
Release: 1
Summary: ${description.split(":")[0]}
License: Apache-2.0 AND MIT
AutoReqProv: no
Requires: glibc >= ${GLIBC}, libstdc++, libgcc
%description
Samples all CPUs with eBPF. Functions of Perl, Python, .NET, native code and the kernel stand in one list, with
complete stacks; nothing is restarted, instrumented or attached to.
%install
cp -a ${staged}/. %{buildroot}/
%postun
if [ "$1" = 0 ]; then ${REMOVE_CACHE}; fi
%files
/usr/bin/polytop
/usr/lib/polytop
/usr/share/man/man1/polytop.1.gz
/usr/share/bash-completion/completions/polytop
/usr/share/zsh/site-functions/_polytop
/usr/share/fish/vendor_completions.d/polytop.fish
/usr/share/doc/polytop
`;

const definitions = ({ isQuick }: ReleaseFacts): readonly string[] => [
  `_topdir ${WORK}/rpm/top`,
  `_rpmdir ${OUT}`,
  "_build_name_fmt polytop-%{VERSION}-%{RELEASE}.%{ARCH}.rpm",
  `_binary_payload ${isQuick ? "w1.gzdio" : "w9.xzdio"}`,
  "__os_install_post %{nil}",
  "_build_id_links none",
  "debug_package %{nil}",
  "use_source_date_epoch_as_buildtime 1",
  "clamp_mtime_to_source_date_epoch 1",
  "_buildhost localhost",
];

/** Writes it. */
export async function makeRpm(facts: ReleaseFacts): Promise<void> {
  const folder = join(WORK, "rpm");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  stage(join(folder, "staged"), "rpm", facts);
  const env = { SOURCE_DATE_EPOCH: String(facts.epoch) };
  await sh('gzip -9n "$1"', [join(folder, "staged/usr/share/man/man1/polytop.1")]);
  writeFileSync(join(folder, "polytop.spec"), specification(facts, join(folder, "staged")));
  const defined = definitions(facts).flatMap((it) => ["--define", it]);
  await sh(
    'nice rpmbuild -bb --quiet --target x86_64 "$@" >&2',
    [...defined, join(folder, "polytop.spec")],
    { env },
  );
  rmSync(folder, { recursive: true });
}
