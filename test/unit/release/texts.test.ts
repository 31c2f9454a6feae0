/** The manual page and the completions: all options, and texts that the programs take which read them. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bashCompletion, fishCompletion, zshCompletion } from "../../../release/text/completion.ts";
import { manual } from "../../../release/text/manual.ts";
import { COMMANDS, OPTION_WORDS } from "../../../release/text/words.ts";
import { helpText } from "../../../src/options/option-table.ts";

const FACTS = {
  version: "1.2.3",
  description: "Live top: all",
  commit: "c",
  epoch: 0,
  isQuick: true,
};

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "polytop-texts-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

test("every option of the help is in each", () => {
  for (const { long, value } of OPTION_WORDS) {
    expect(helpText()).toContain(`${long}${value && ` ${value}`}`);
    expect(bashCompletion()).toContain(long);
    expect(zshCompletion()).toContain(long);
    expect(fishCompletion()).toContain(`-l ${long.slice(2)}`);
    expect(manual(FACTS)).toContain(long.replaceAll("-", "\\-"));
  }
  for (const [command] of COMMANDS) expect(helpText()).toContain(`polytop ${command}`);
});

test("the manual page is without faults for groff, where there is one", (context) => {
  const { error, stderr } = spawnSync(
    "groff",
    ["-man", "-Tascii", "-ww", file("polytop.1", manual(FACTS))],
    {
      encoding: "utf8",
    },
  );
  if (error) context.skip("there is no groff here");
  expect(stderr).toBe("");
});

/** What bash offers for a command line that ends at its cursor. */
function offered(words: readonly string[]): string[] {
  const script = file("completion.bash", bashCompletion());
  const list = words.map((word) => `'${word}'`).join(" ");
  const command = `. '${script}'; COMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _polytop; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return spawnSync("bash", ["-c", command], { encoding: "utf8", cwd: folder })
    .stdout.split("\n")
    .filter(Boolean);
}

test("bash completes commands, options and their values", () => {
  expect(offered(["polytop", "re"])).toEqual(["record", "replay"]);
  expect(offered(["polytop", "--no-k"])).toEqual(["--no-kernel"]);
  expect(offered(["polytop", "--sort", "t"])).toEqual(["total"]);
  expect(offered(["polytop", "-s", ""])).toEqual(["self", "total", "name", "module", "pid"]);
  expect(offered(["polytop", "-p", String(process.pid)])).toEqual([String(process.pid)]);
  expect(offered(["polytop", "-p", `1,${process.pid}`])).toEqual([`1,${process.pid}`]);
  expect(offered(["polytop", "--rows", ""])).toEqual([]);
  file("a.polytop", "");
  expect(offered(["polytop", "replay", "a."])).toEqual(["a.polytop"]);
});

test.each([
  ["zsh", zshCompletion()],
  ["fish", fishCompletion()],
])("%s can read its own, where there is one", (shell, text) => {
  const { error, status, stderr } = spawnSync(shell, ["-n", file(`completion.${shell}`, text)], {
    encoding: "utf8",
  });
  if (error) return;
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});
