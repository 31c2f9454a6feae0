/** The command-line tool of native/symbols.h, and how to ask it; see test/native/symbols_tool.cpp. */
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { resolve } from "node:path";

const FOLDER = resolve("build/test/symbols");
export const TOOL = resolve(FOLDER, "symbols_tool");
/** The same with address and undefined behaviour checked. */
export const CHECKED_TOOL = `${TOOL}_checked`;
export const BUILD_MILLISECONDS = 300_000;

/** Builds both; test files that run side by side wait for each other. */
export function buildTool(): void {
  mkdirSync(FOLDER, { recursive: true });
  const make = ["make", "-s", "-j2", "-f", "test/native/symbols.mk"];
  execFileSync("flock", [resolve(FOLDER, "lock"), ...make]);
}

/** Standard output of a command, in lines. */
export function run(command: string, args: readonly string[], input = ""): string[] {
  const options = { input, encoding: "utf8", maxBuffer: 256 * 1024 * 1024 } as const;
  return execFileSync(command, args, options).split("\n").slice(0, -1);
}

export function demangle(names: readonly string[], tool = TOOL): string[] {
  return run(tool, ["demangle"], names.map((name) => `${name}\n`).join(""));
}
