import { expect, test } from "vitest";
import { parseFilter } from "../../../src/model/filter.ts";
import type { Runtime } from "../../../src/tick/runtimes.ts";
import type { FunctionInfo, Task } from "../../../src/tick/tick.ts";

const info = (runtime: Runtime, name: string, module: string): FunctionInfo => ({
  id: 0,
  runtime,
  name,
  module,
});
const task = (pid: number, comm: string) => ({ pid, comm }) as Task;
const good = (text: string) => {
  const parsed = parseFilter(text);
  if ("error" in parsed) throw new Error(parsed.error);
  return parsed.filter;
};
const errorOf = (text: string): string => {
  const parsed = parseFilter(text);
  return "error" in parsed ? parsed.error : "";
};

test.each([
  ["ledger", true],
  ["POST::", true],
  ["ledger.pl", true],
  ["nothing", false],
  ["!nothing", true],
  ["ledger !post", false],
  ["/^Ledger::.*entry$/", true],
  ["/^ledger/", false],
  ["!/^Ledger/", false],
  ["lang:perl", true],
  ["lang:native", false],
  ["!lang:.net", true],
  ["module:SRV", true],
  ["module:libc", false],
  ['"Post::entry"', true],
  ['"/srv/ledger.pl"', true],
  ["/entry$/ lang:perl !module:libc", true],
  ["a{b", false],
  ["", true],
])("%s on a function is %s", (text, matches) => {
  const one = info("perl", "Ledger::Post::entry", "/srv/ledger.pl");
  // Twice: the second answer is remembered.
  const filter = good(text);
  expect(filter.matchesFunction(one)).toBe(matches);
  expect(filter.matchesFunction(one)).toBe(matches);
});

test.each([
  ["pid:42", true],
  ["pid:41,42", true],
  ["!pid:42", false],
  ["comm:NGINX", true],
  ['comm:"nginx: w"', true],
  ["comm:perl", false],
  ["pid:42 !comm:nginx", false],
])("%s on a process is %s", (text, matches) => {
  expect(good(text).matchesTask(task(42, "nginx: worker"))).toBe(matches);
});

test("terms say what they choose", () => {
  expect(good("pid:1 x")).toMatchObject({ hasTaskTerms: true, hasFunctionTerms: true });
  expect(good("  comm:x ")).toMatchObject({
    hasTaskTerms: true,
    hasFunctionTerms: false,
    text: "comm:x",
  });
  // A name with a colon is a text.
  expect(good("std::sort")).toMatchObject({ hasTaskTerms: false, hasFunctionTerms: true });
});

test.each([
  ["/abc", "the regular expression at 1 has no closing /"],
  ["x /a(/", "/a(/ at 3 is no regular expression: Unterminated group"],
  ["pid:abc", 'pid: at 1 needs a number, not "abc"'],
  ["pid:", "needs a value"],
  ["lang:cobol", 'is one of perl, dotnet, python, javascript, native, kernel, not "cobol"'],
  ["a ! b", "! at 3 negates nothing"],
  ['comm:"x', "the quote at 6 is not closed"],
  ["/(a)\\1/", "a back reference (at 5) is not allowed"],
  ["/(?=a)/", "look-around (at 2) is not allowed"],
  ["/(a{9}){9}/", "a count above 16"],
  [`/${"a".repeat(300)}/`, "longer than 200 characters"],
  ["x".repeat(501), "at most 500 characters"],
])("%s is an error that names the place", (text, message) => {
  expect(errorOf(text)).toContain(message);
});

test.each(["/(a+)+$/", "/(a|a)*$/", "/(.*)*x/", "/.*.*.*.*.*=x/", "/(a|b|ab)*c/"])(
  "%s cannot hold the screen up",
  (text) => {
    const filter = good(text);
    // One that tries all ways does not come to an end; whether it matches does not matter.
    expect(filter.matchesFunction(info("native", `${"a".repeat(500)}!`, ""))).toBeTypeOf("boolean");
  },
);
