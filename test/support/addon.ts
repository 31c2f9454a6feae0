/** The addon that was built, for what tests ask of it themselves. */
import { createRequire } from "node:module";
import type { Addon } from "../../src/addon/binding.ts";
import type { MethodFinder } from "../../src/addon/method-finder.ts";
import { dist } from "./polytop.ts";

export const builtAddon = (): Addon =>
  createRequire(import.meta.url)(`${dist}polytop.node`) as Addon;

let finder: MethodFinder | undefined;

/** One for all tests of a process: it keeps a program running. */
export function methodFinder(): MethodFinder {
  finder ??= new (builtAddon().MethodFinder)();
  return finder;
}
