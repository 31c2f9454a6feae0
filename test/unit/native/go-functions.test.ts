/** Names of Go programs that were stripped, against the symbols that they had before. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  BUILD_MILLISECONDS,
  buildTools,
  CHECKED_TOOL,
  find,
  readelfFunctions,
  run,
} from "./symbols-tool.ts";

/** Imports nothing: only the runtime has to be compiled with it. */
const PROGRAM = `package main

type Table[T any] struct{ rows []T }

//go:noinline
func (t *Table[T]) Add(row T) { t.rows = append(t.rows, row) }

func main() {
	table := &Table[int]{}
	for i := 0; i < 9; i++ {
		table.Add(9 - i)
	}
	println(len(table.rows))
}
`;

const hasGo = spawnSync("go", ["version"]).status === 0;
const folder = mkdtempSync(join(tmpdir(), "polytop-go-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function build(name: string, ...options: readonly string[]): string {
  const output = join(folder, name);
  const env = { ...process.env, CGO_ENABLED: "0", GOFLAGS: "" };
  execFileSync("go", ["build", ...options, "-o", output, "main.go"], { cwd: folder, env });
  return output;
}

/** The runtime's table has one name for both calling conventions; compilers before Go 1.21 leave type arguments out. */
function inTable(name: string): string[] {
  const whole = name.replace(/\.abi(0|internal)$/, "");
  return [whole, whole.replace(/\[.*\]/, "[...]")];
}

beforeAll(() => {
  buildTools();
  writeFileSync(join(folder, "main.go"), PROGRAM);
}, BUILD_MILLISECONDS);

for (const mode of ["exe", "pie"]) {
  test(`buildmode ${mode}: every function has its name without a symbol table`, (context) => {
    if (!hasGo) context.skip("Debian's golang-go is not installed");
    const full = build(`full-${mode}`, `-buildmode=${mode}`);
    const stripped = build(`stripped-${mode}`, `-buildmode=${mode}`, "-ldflags=-s -w");
    // Names of what compares values of a type hold spaces, and readelf has no quotes. Go 1.20 spells them in another way.
    const functions = readelfFunctions(full).filter(({ name }) => !/^type[.:]\.eq\./.test(name));
    expect(functions.length).toBeGreaterThan(500);
    const found = find(
      stripped,
      functions.map(({ offset }) => ({ offset })),
    );
    const wrong = functions.filter(({ offset, name }, index) => {
      const [start, ...words] = (found[index] ?? "").split(" ");
      return start !== offset.toString(16) || !inTable(name).includes(words.join(" "));
    });
    expect(wrong.map(({ name }) => name)).toEqual([]);
  }, 120_000);
}

test("a damaged table breaks nothing", (context) => {
  if (!hasGo) context.skip("Debian's golang-go is not installed");
  const file = build("damaged", "-ldflags=-s -w");
  const result = JSON.parse(run(CHECKED_TOOL, ["fuzz", file, "2"])[0] ?? "");
  expect(result.files).toBeGreaterThan(10);
}, 120_000);
