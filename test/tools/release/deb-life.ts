/** The package of Debian from its installation over an upgrade to its removal: nothing of it stays. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { artefact } from "./artefacts.ts";
import { debian, type System } from "./systems.ts";

/** All files of the system that polytop may not touch in the end; dpkg's own records of what it did grow. */
const files = (system: System): Promise<string> =>
  system.sh(
    "find / -xdev -path /proc -prune -o -path /sys -prune -o -path /dev -prune -o -path /tmp -prune -o -path '/var/lib/dpkg/*' -prune -o -path '/var/log/*' -prune -o -print | sort",
  );

/** The same package with a later version. */
function laterVersion(folder: string): string {
  const tree = join(folder, "tree");
  execFileSync("dpkg-deb", ["-R", artefact("*.deb"), tree]);
  execFileSync("sed", ["-i", "s/^Version: .*/&.1/", join(tree, "DEBIAN/control")]);
  const file = join(folder, "later.deb");
  execFileSync("dpkg-deb", ["--root-owner-group", "-Zgzip", "-z1", "-b", tree, file], {
    stdio: "ignore",
  });
  return file;
}

/** Throws where something stays, or where it does not run in between. */
export async function lifeOfDeb(): Promise<string> {
  const system = debian("bookworm");
  const folder = mkdtempSync(join(tmpdir(), "polytop-deb-"));
  try {
    const before = await files(system);
    system.put(artefact("*.deb"), "tmp");
    system.put(laterVersion(folder), "tmp");
    await system.sh("dpkg -i /tmp/polytop_*.deb && polytop --once >/dev/null");
    await system.sh("dpkg -i /tmp/later.deb && polytop --once >/dev/null");
    await system.sh("dpkg --verify polytop && test -d /var/cache/polytop && dpkg -r polytop");
    const state = await system.sh("dpkg -s polytop 2>/dev/null || :");
    const after = await files(system);
    const left = after.split("\n").filter((it) => !before.split("\n").includes(it));
    if (left.length > 0 || state !== "") throw new Error(`${state} left: ${left.join(" ")}`);
    return "nothing stays";
  } finally {
    system.remove();
    rmSync(folder, { recursive: true });
  }
}
