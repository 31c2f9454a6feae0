/** What bin/generate makes of bpf/abi.h is what a C compiler makes of it, and nothing is passed over. */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as abi from "../../../build/abi.ts";
import { OUTCOMES } from "../../../src/tick/tick.ts";
import { root } from "../../support/polytop.ts";

const folder = mkdtempSync(join(tmpdir(), "polytop-abi-"));

beforeAll(() => {
  for (const part of ["bin", "bpf"])
    cpSync(`${root}${part}`, join(folder, part), { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  mkdirSync(join(folder, "build"));
});

afterAll(() => rmSync(folder, { recursive: true }));

/** What the generator says of a folder whose abi.h is this text. */
function generate(header: string): string {
  writeFileSync(join(folder, "bpf", "abi.h"), header);
  const { stderr } = spawnSync(process.execPath, ["bin/generate", "build"], {
    cwd: folder,
    encoding: "utf8",
  });
  return stderr;
}

test("every constant has the value that C gives it", () => {
  const constants = Object.entries(abi).filter(([, value]) => typeof value !== "object");
  expect(constants.length).toBeGreaterThan(100);
  const prints = constants.map(([name]) => `printf("%lld\\n", (long long)(${name}));`);
  const program = join(folder, "print");
  writeFileSync(
    `${program}.c`,
    `#include <stdio.h>\n#include "${root}bpf/abi.h"\nint main(void) { ${prints.join("\n")} }\n`,
  );
  execFileSync("clang-19", ["-o", program, `${program}.c`]);
  const printed = execFileSync(program, { encoding: "utf8" }).trim().split("\n");
  expect(constants.map(([, value]) => String(value))).toEqual(printed);
});

test("words of an enum have its values as their indexes", () => {
  expect(OUTCOMES[abi.OUTCOME_COMPLETE]).toBe("complete");
  expect(OUTCOMES[abi.OUTCOME_TRUNCATED]).toBe("truncated");
  expect(OUTCOMES[abi.OUTCOME_BROKEN]).toBe("broken");
});

test.each([
  ["a macro with parameters", "#define MIX(a) (a)\n", "abi.h:1: #define MIX(a) (a)"],
  ["a text", '\n#define NAME "polytop"\n', "abi.h:2: no integer"],
  ["a type", "typedef int number;", "abi.h:1: a declaration: typedef int"],
  ["another condition", "#ifndef A\n#if LINUX > 5\n#endif\n#endif\n", "abi.h:2: a condition"],
  ["an octal number", "#define MODE 0755\n", "abi.h:1: an octal number: 0755"],
  ["a value that C would cut", "#define BIG (1 << 40)\n", "abi.h:1: 1099511627776 needs 64 bits"],
  ["an enum that does not end", "enum outcome {\n\tA,\n", "abi.h:1: a bracket that is not closed"],
  ["a name that is there twice", "enum a { A };\n#define A 1\n", "abi.h:1: A is defined twice"],
])("a header with %s is refused", (_what, header, message) => {
  expect(generate(header)).toContain(message);
});
