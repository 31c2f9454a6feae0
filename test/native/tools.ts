/** The programs of this folder, which offer parts of native/ on a command line. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { root } from "../support/polytop.ts";

export const BUILD_MILLISECONDS = 300_000;

/** A program of this folder, compiled as the addon is. */
export const tool = (name: string): string => join(root, "build/tools", name);
/** A program of this folder that stops at the first wrong access to memory or undefined behaviour. */
export const checkedTool = (name: string): string => join(root, "build/tools/checked", name);

/** Builds all of them; test files that run side by side wait for each other. */
export function buildTools(): void {
  run("flock", [join(root, "build"), "make", "-s", "-j2", "-C", root, "tools"]);
}

/** The rows of a large file are some megabytes. */
const MOST_OUTPUT = 64 << 20;

/** What a command prints; throws an Error with all of its output where it fails. */
export function run(command: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: "utf8",
    maxBuffer: MOST_OUTPUT,
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}\n${stdout}${stderr}`);
  return stdout;
}
