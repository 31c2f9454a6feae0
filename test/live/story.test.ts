/**
 * The story that polytop is for, played in a real terminal: which line of which function of a
 * process burns the CPU, for somebody who reads nothing but the footer.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { TestTerminal } from "../screen/terminal.ts";
import { launcher, needsSampling, root } from "../support/polytop.ts";
import { type Running, start } from "../support/profile.ts";
import { workload } from "../support/workloads.ts";

const PERL = `package Story::Ledger;
sub entry {
  my ($n) = @_;
  my $sum = 0;
  for my $i (1 .. 300) { $sum += ($i * $n) % 7 }    # here
  return $sum;
}
sub month { my $s = 0; $s += entry($_) for 1 .. 50; return $s }
month() while 1;
`;

/** A machine that is busy with other tests is slow, not wrong; milliseconds. */
const PATIENCE = 60_000;
vi.setConfig({ testTimeout: 5 * PATIENCE });

const folder = mkdtempSync(join(tmpdir(), "polytop-story-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const opened: (Running | TestTerminal)[] = [];
beforeEach(needsSampling);
afterEach(async () => {
  for (const one of opened.splice(0)) {
    if (one instanceof TestTerminal) {
      one.kill("SIGKILL");
      await one.exited;
    } else {
      await one.stop();
    }
  }
});

/** Starts polytop as people do, at 80 by 24. */
function screen(): TestTerminal {
  const env = { POLYTOP_BUDGET: "0", LANG: "C.UTF-8" };
  const terminal = new TestTerminal(launcher, [], { columns: 80, rows: 24, env });
  opened.push(terminal);
  return terminal;
}

/** Presses a key that the last lines of the screen name, in these words. */
async function press(terminal: TestTerminal, key: string, words: string): Promise<void> {
  const names = (text: string): boolean => text.split("\n").slice(-3).join("\n").includes(words);
  await terminal.until(names, `"${words}" in the footer`, PATIENCE);
  terminal.type(key);
}

/** Below three lines of header and the headings. */
const FIRST_ROW = 4;

/** From the start to the lines of the hottest function of a process; returns the keys it took and the screen. */
async function tellLines(
  pid: number,
  hottest: string,
  found: string,
): Promise<{ keys: number; text: string }> {
  const terminal = screen();
  await terminal.until((text) => text.includes("SELF%"), "the list", PATIENCE);
  await press(terminal, "p", "p pid");
  await press(terminal, String(pid), "sample only these");
  await press(terminal, "\r", "⏎ sample only these");
  const isFirst = (text: string): boolean =>
    text.includes(`pid ${pid}:`) && text.split("\n")[FIRST_ROW]?.includes(hottest) === true;
  await terminal.until(isFirst, `${hottest} in the first row`, PATIENCE);
  await press(terminal, "\r", "⏎ open");
  const text = await terminal.until((one) => one.includes(found), `"${found}"`, PATIENCE);
  return { keys: "p⏎⏎".length, text };
}

test("which line of which sub of a Perl process: p, pid, Enter, Enter", async () => {
  const script = join(folder, "story.pl");
  writeFileSync(script, PERL);
  const perl = start("/usr/bin/perl", [script]);
  opened.push(perl);
  const line = PERL.split("\n").findIndex((text) => text.includes("# here")) + 1;
  const { keys, text } = await tellLines(perl.pid, "Ledger::entry", `% line ${line}`);
  expect(keys).toBeLessThanOrEqual(8);
  expect(text).toContain("Story::Ledger::entry");
  expect(text).toContain("story.pl");
  expect(text).toMatch(/Story.*::month/);
});

test("the same for native code that has a line table", async () => {
  const program = workload("lines.c", { as: "lines-live", flags: ["-g"] });
  const running = start(program, []);
  opened.push(running);
  const source = readFileSync(`${root}test/workloads/lines.c`, "utf8").split("\n");
  const line = source.findIndex((text) => text.includes("most of the time")) + 1;
  const { keys, text } = await tellLines(running.pid, " hot ", `lines.c:${line}`);
  expect(keys).toBeLessThanOrEqual(8);
  expect(text).toMatch(/^ hot/m);
});

test("native code without a line table says so", async () => {
  const running = start(workload("lines.c", { as: "lines-none", flags: ["-g0", "-s"] }), []);
  opened.push(running);
  const { text } = await tellLines(running.pid, "lines-none", "no lines: it has no line table");
  expect(text).toContain("CALLERS");
});
