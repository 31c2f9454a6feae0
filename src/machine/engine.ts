/** How V8 weighs its own work against that of the program. */
import { setFlagsFromString } from "node:v8";

/**
 * Has V8 optimise functions later, and with fewer threads (Node.js 22 to 26 know the flag). A refresh is done in some
 * milliseconds however it is compiled, and V8's optimising compiler took a fifth of all that polytop cost in its first
 * half minute.
 */
export function compileSparingly(): void {
  setFlagsFromString("--efficiency-mode");
}
