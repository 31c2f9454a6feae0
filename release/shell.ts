/** Runs the tools that a release is made with. */
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { root } from "../test/support/polytop.ts";

/** What tools that look at the clock, the language or the folder are told: the same everywhere. */
const ENVIRONMENT = { LC_ALL: "C.UTF-8", TZ: "UTC", ROOT: root };

export interface ShellOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What it writes goes into this file. */
  readonly into?: string;
}

/** Runs a command of the shell to its end; `"$1"`, `"$2"`, … are the arguments. Resolves to what it wrote; throws where it fails. */
export function sh(
  command: string,
  args: readonly string[] = [],
  { cwd = root, env = {}, into }: ShellOptions = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    // The command writes into the file itself: it is whole when the command has ended.
    const output = into === undefined ? "pipe" : openSync(into, "w");
    // Of a pipe no command may fail: the file would be cut off.
    const child = spawn("/bin/bash", ["-eo", "pipefail", "-c", command, "release", ...args], {
      cwd,
      env: { ...process.env, ...ENVIRONMENT, ...env },
      stdio: ["ignore", output, "pipe"],
    });
    if (typeof output === "number") closeSync(output);
    let stdout = "";
    let stderr = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.on("error", reject);
    child.on("close", (status) => {
      if (status === 0) resolve(stdout);
      else reject(new Error(`${command}: ${stderr.trim().split("\n").slice(-5).join("\n")}`));
    });
  });
}

/** Says on stderr how long something took. */
export async function timed<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  const begin = performance.now();
  const result = await work();
  console.error(`${((performance.now() - begin) / 1000).toFixed(1).padStart(7)} s  ${what}`);
  return result;
}
