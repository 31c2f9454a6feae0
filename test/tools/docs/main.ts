/** `npm run docs`: writes docs/reference.md, and the pictures of docs/ from a recording. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleFixture } from "../../screen/bundle.ts";
import { TestTerminal } from "../../screen/terminal.ts";
import { recordExample } from "../../support/example-machine.ts";
import { root } from "../../support/polytop.ts";
import { referencePage, schemaFile } from "./page.ts";
import { svgOf } from "./svg.ts";

const SIZE = { columns: 100, rows: 24 };

/** Each with the keys that lead to it, and a text that it shows. */
const PICTURES: readonly (readonly [name: string, title: string, keys: string, shows: string])[] = [
  ["functions", "Functions, hottest first", "j", "SELF%"],
  ["detail", "One function: its callers, lines and callees", "\r", "CALLERS"],
  ["flame", "The last ten seconds as a flame", "4jjjjjj", "outermost on top"],
  ["metrics", "Counters of the unwinders", "5j", "STACKS/S"],
];

const folder = mkdtempSync(join(tmpdir(), "polytop-docs-"));
mkdirSync(`${root}docs`, { recursive: true });
writeFileSync(`${root}docs/reference.md`, referencePage());
writeFileSync(`${root}docs/snapshot.schema.json`, schemaFile());
try {
  const recording = recordExample(folder);
  const program = await bundleFixture();
  for (const [name, title, keys, shows] of PICTURES) {
    const terminal = new TestTerminal(process.execPath, [program], {
      ...SIZE,
      env: { TZ: "UTC", POLYTOP_FIXTURE: JSON.stringify({ recording }) },
    });
    await terminal.shows("replay 12:01:00");
    for (const key of keys) terminal.type(key);
    await terminal.shows(shows);
    // What is worked out a part at a time is there by then.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    writeFileSync(`${root}docs/${name}.svg`, svgOf(await terminal.cells(), title));
    terminal.type("q");
    await terminal.exited;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
