/**
 * The first file that runs. What takes longest until the first row is the kernel's work, and needs nothing that is yet to
 * be read: it is begun before the rest of polytop is read.
 */
import { loadAddon } from "./addon/binding.ts";
import { checkAddon } from "./machine/installation.ts";
import { samplingObject } from "./machine/native-folder.ts";

/** With one of these words nothing is sampled. */
const OTHERS = new Set(["replay", "doctor", "list", "-h", "--help", "-v", "--version"]);

function begin(): void {
  try {
    checkAddon();
    const addon = loadAddon();
    addon.comeFirst();
    addon.begin(samplingObject());
  } catch {
    // What is wrong is told when what was begun is needed.
  }
}

if (!process.argv.slice(2).some((word) => OTHERS.has(word))) begin();
await import("./cli.ts");
