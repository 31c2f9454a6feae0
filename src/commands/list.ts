/** polytop list: prints the events that there are, and attaches nothing. */
import { loadAddon } from "../addon/binding.ts";
import { checkNativeFiles, checkPids } from "../doctor/preflight.ts";
import { list as find } from "../events/list.ts";
import type { Options } from "../options/asked.ts";
import { print } from "./lifetime.ts";

/** Returns the exit status. */
export async function list(options: Options & { command: "list" }): Promise<number> {
  checkPids(options.pids);
  checkNativeFiles();
  return print(`${find(options, loadAddon()).join("\n")}\n`);
}
