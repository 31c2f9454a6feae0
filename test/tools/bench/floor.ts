/** What a Node program costs that does nothing: the least that polytop can cost. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Section } from "../../support/measure.ts";
import { during, familyNanoseconds, sleep } from "../../support/profile.ts";
import { LOADS } from "./loads.ts";
import { MEASURED_SECONDS, SETTLED_SECONDS } from "./process.ts";

const PROGRAM = fileURLToPath(new URL("idle-node.mjs", import.meta.url));

/** The CPU time of that program, in percent of one CPU. */
async function idleCost(): Promise<number> {
  // The flags are those of bin/polytop.
  const flags = ["--single-threaded", "--min-semi-space-size=4", "--max-semi-space-size=4"];
  const child = spawn(process.execPath, [...flags, PROGRAM], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  try {
    await sleep(SETTLED_SECONDS);
    const pid = child.pid ?? 0;
    const [before, begin] = [familyNanoseconds(pid), performance.now()];
    await sleep(MEASURED_SECONDS);
    return (familyNanoseconds(pid) - before) / (1e4 * (performance.now() - begin));
  } finally {
    child.kill();
  }
}

export const floors: readonly Section[] = [
  {
    name: "floor",
    about: "a Node program with a thread that prints 50 rows a second, and does nothing else",
    run: async () => {
      const rows = [];
      for (const { title, start } of LOADS.filter(({ name }) => ["hot", "compile"].includes(name)))
        rows.push({
          what: `${title}: a Node program that prints 50 rows a second and does nothing else`,
          bar: "",
          figure: `${(await during(start(), idleCost)).toFixed(2)} % of one CPU`,
        });
      return rows;
    },
  },
];
