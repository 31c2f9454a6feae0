/**
 * Runs the tests of test/live with what is in out/: its launcher, bundle, addon and Node stand for this clone's.
 * `npm run release -- --test live [FILE…]`
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { env } from "node:process";
import { WORK } from "../../../release/facts.ts";
import { sh } from "../../../release/shell.ts";
import { root } from "../../support/polytop.ts";
import { artefact } from "./artefacts.ts";

/** Resolves to whether all hold. */
export async function tryLive(files: readonly string[]): Promise<boolean> {
  const folder = join(WORK, "tried");
  const unpack = 'rm -rf "$1" && mkdir -p "$1" && tar -xzf "$2" -C "$1"';
  await sh(unpack, [folder, artefact("*linux-x64.tar.gz")]);
  const release = join(folder, "polytop");
  const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts"];
  const tests = files.length > 0 ? files : ["test/live"];
  const child = spawn(join(release, "lib/node"), [...vitest, ...tests], {
    cwd: root,
    env: { ...env, POLYTOP_RELEASE: release },
    stdio: "inherit",
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (status) => resolve(status === 0));
  });
}
