import { expect, test } from "vitest";
import { parseFilter } from "../../../src/model/filter/filter.ts";
import type { Runtime } from "../../../src/tick/runtimes.ts";
import type { FunctionInfo, Task } from "../../../src/tick/tick.ts";

const info = (runtime: Runtime, name: string, module: string): FunctionInfo => ({
  id: 0,
  runtime,
  name,
  module,
});
const task = (pid: number, comm: string) => ({ pid, comm }) as Task;
const facts = {
  user: "www-data",
  container: "docker 3f2a11ba5e2c",
  unit: "nginx.service",
  group: "docker 3f2a11ba5e2c",
  command: "/usr/sbin/nginx",
  arguments: "/usr/sbin/nginx -c site.conf",
};
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
  ["nothing|ledger", true],
  ["nothing | ledger", true],
  ["nothing|none", false],
  ["!ledger|post", true],
  ["ledger nothing|none", false],
  ['"nothing|ledger"', false],
  ["/nothing|entry$/|none", true],
  ["lang:native,perl", true],
  ["lang:native|lang:perl", true],
  ["!lang:native,perl", false],
  ["module:libc,srv", true],
  ['"kthread"', false],
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
  ["pid:41|comm:nginx", true],
  ["comm:perl,nginx", true],
  ['comm:"perl,nginx"', false],
  ["!comm:perl,nginx", false],
  ["user:www-data", true],
  ["user:33", true],
  ["user:WWW-DATA,root", true],
  ["user:data", false],
  ["user:3", false],
  ["container:3f2a", true],
  ["container:docker", true],
  ["container:nginx", false],
  ["unit:nginx", true],
  ["cmd:site.conf", true],
  ["cmd:nginx", true],
  ["cmd:apache", false],
  ["PID:42", true],
  ["kthread", false],
  ["!kthread", true],
  ["kthread|user:www-data", true],
])("%s on a process is %s", (text, matches) => {
  expect(good(text).matchesTask({ ...task(42, "nginx: worker"), uid: 33, facts })).toBe(matches);
});

test("threads of the kernel are those that kthreadd started", () => {
  const matches = (pid: number, parentPid: number): boolean =>
    good("kthread").matchesTask({ ...task(pid, "x"), parentPid });
  expect([matches(2, 0), matches(99, 2), matches(99, 1)]).toEqual([true, true, false]);
});

test("of a process that was not read only its name is known", () => {
  const unread = task(42, "nginx");
  expect(good("cmd:nginx").matchesTask(unread)).toBe(true);
  expect(good("user:www-data").matchesTask(unread)).toBe(false);
  expect(good("container:3f|unit:nginx").matchesTask(unread)).toBe(false);
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
  ["process:x", "there is no word process: (at 1); there are pid: tree: comm: cmd:"],
  ["a !users:x", "there is no word users: (at 3)"],
  ["a |", "| at 3 stands between no two words"],
  ["| a", "| at 1 stands between no two words"],
  ["a||b", "| at 3 stands between no two words"],
  ["pid:4|main", "joins words about a process and a function"],
  ["comm:a,", "comm: at 1 needs a value"],
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
