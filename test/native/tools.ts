/** The programs of this folder, which offer parts of native/ on a command line. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { root } from "../support/polytop.ts";

/** Where they are built. */
export const TOOLS = join(root, "build/test-native");
export const BUILD_MILLISECONDS = 300_000;

export function buildTools(): void {
  run("make", ["-s", "-j2", "-C", join(root, "test/native"), "all"]);
}

/** What a command prints; throws an Error with all of its output where it fails. */
export function run(command: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8" });
  if (error) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}\n${stdout}${stderr}`);
  return stdout;
}
