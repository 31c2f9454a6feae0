/**
 * What the live screen costs: CPU and bytes a refresh at 1 Hz in a real pseudo terminal.
 * Run with the project's Node: node test/bench/screen.ts [seconds] [columns rows]
 */
import { bundleFixture } from "../screen/bundle.ts";
import { TestTerminal } from "../screen/terminal.ts";

const seconds = Number(process.argv[2] ?? 20);
const sizes: readonly (readonly [number, number])[] =
  process.argv[4] === undefined
    ? [
        [80, 24],
        [120, 40],
        [200, 60],
      ]
    : [[Number(process.argv[3]), Number(process.argv[4])]];

interface Measured {
  readonly cpuMs: number;
  readonly allMs: number;
  readonly rss: number;
}

const fixture = await bundleFixture();
console.log("size     cpu ms a refresh   start cpu ms   bytes a refresh   rss MB");
for (const [columns, rows] of sizes) {
  const flags = process.env.BENCH_NODE_FLAGS?.split(" ") ?? [];
  const terminal = new TestTerminal(process.execPath, [...flags, fixture], {
    columns,
    rows,
    env: { POLYTOP_FIXTURE: JSON.stringify({ measure: true }) },
  });
  await terminal.shows("SELF%");
  // The fixture measures from its fifth second on.
  await new Promise((resolve) => setTimeout(resolve, 5000));
  const before = terminal.output.length;
  const bytesBefore = Buffer.byteLength(terminal.output.slice(0, before));
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const bytes = Buffer.byteLength(terminal.output) - bytesBefore;
  terminal.type("q");
  await terminal.exited;
  const measured = /MEASURED (\{.*\})/.exec(terminal.output)?.[1] ?? "{}";
  const { cpuMs, allMs, rss } = JSON.parse(measured) as Measured;
  const line = [
    `${columns}x${rows}`.padEnd(8),
    (cpuMs / seconds).toFixed(1).padStart(17),
    (allMs - cpuMs).toFixed(0).padStart(14),
    (bytes / seconds).toFixed(0).padStart(17),
    (rss / 1e6).toFixed(0).padStart(8),
  ];
  console.log(line.join(" "));
}
