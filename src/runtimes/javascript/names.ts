/** The names of JavaScript functions, made of the strings that V8 keeps of them. */
import { fileURLToPath } from "node:url";
import type { InterpretedName } from "../../addon/drained.ts";
import { textOf } from "../interpreted-names.ts";
import type { NamedFunction } from "../reader.ts";

const ANONYMOUS = "(anonymous)";
/** What stands for the path of code that eval() or new Function() compiled, which has none. */
const NO_SCRIPT = "(eval)";
const FILE_SCHEME = "file://";

/** The path of a script: modules are named by URLs. */
export function scriptPath(name: string): string {
  if (!name.startsWith(FILE_SCHEME)) return name === "" ? NO_SCRIPT : name;
  try {
    return fileURLToPath(name);
  } catch {
    // Whoever compiles a script may call it anything.
    return name;
  }
}

/** The function of a name: its own name, else the one that V8 inferred from where it was assigned to. */
export function javascriptFunction({
  parts: [name, inferred, script],
}: InterpretedName): NamedFunction {
  const own = name ? textOf(name) : "";
  const shown = own === "" && inferred ? textOf(inferred) : own;
  return {
    runtime: "javascript",
    name: shown === "" ? ANONYMOUS : shown,
    module: scriptPath(script ? textOf(script) : ""),
  };
}
