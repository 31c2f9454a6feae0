/** Command lines: what of them says which program runs, and nothing that may be a secret. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { joinWords, programWords, readCommandLine } from "../../../src/machine/command-line.ts";

test.each([
  ["/usr/sbin/nginx -c site.conf", "/usr/sbin/nginx"],
  ["perl -w -I lib /srv/ledger.pl --password x", "perl /srv/ledger.pl"],
  ["perl -e print(1) secret", "perl -e"],
  ["/usr/bin/perl5.36.0 -lane print", "/usr/bin/perl5.36.0 -lane"],
  ["python3 -W ignore -m http.server 80", "python3 -m http.server"],
  ["python3.13t -u app.py --token x", "python3.13t app.py"],
  ["python3 -c code", "python3 -c"],
  ["python3 -Im pip install x", "python3 -Im pip"],
  ["python3", "python3"],
  ["node --require ts-node --inspect=9229 server.js 80", "node server.js"],
  ["node -e code", "node -e"],
  ["-bash", "-bash"],
  ["/bin/sh -ec secret", "/bin/sh -ec"],
  ["bash -o pipefail backup.sh --key x", "bash backup.sh"],
  ["java -Xmx1g -cp a:b -Dkey=x org.example.Main --key x", "java org.example.Main"],
  ["java -Dpassword=x -jar app.jar", "java -jar app.jar"],
  ["java --add-opens java.base/a=b -m app/org.Main", "java -m app/org.Main"],
  ["dotnet --depsfile x app.dll --key x", "dotnet app.dll"],
  ["dotnet Shop.Api.dll --urls x", "dotnet Shop.Api.dll"],
  ["ruby -C /srv bin/rails s", "ruby bin/rails"],
  ["php -d a=b -f index.php x", "php -f index.php"],
])("%s is %s", (line, program) => {
  expect(programWords(line.split(" ")).join(" ")).toBe(program);
});

test("words are joined as a shell would take them", () => {
  expect(joinWords(["a", "b c", "", "it's"])).toBe("a 'b c' '' 'it'\\''s'");
});

test("a command line is read from /proc, its start where it is long, and none where there is no process", () => {
  const proc = mkdtempSync(join(tmpdir(), "polytop-proc-"));
  const put = (pid: number, text: string): void => {
    mkdirSync(join(proc, String(pid)));
    writeFileSync(join(proc, String(pid), "cmdline"), text);
  };
  try {
    put(1, "größe\0-a\0\0");
    put(2, "");
    put(3, `x\0${"y".repeat(2_000_000)}`);
    expect(readCommandLine(1, proc)).toEqual(["größe", "-a"]);
    expect(readCommandLine(2, proc)).toEqual([]);
    expect(readCommandLine(3, proc)?.join("").length).toBe(4095);
    expect(readCommandLine(4, proc)).toBeUndefined();
    // The first thread has ended: another one of its process tells.
    put(5, "");
    put(6, "worker\0-n\0");
    mkdirSync(join(proc, "5", "task", "6"), { recursive: true });
    symlinkSync("/", join(proc, "5", "task", "6", "root"));
    expect(readCommandLine(5, proc)).toEqual(["worker", "-n"]);
  } finally {
    rmSync(proc, { recursive: true });
  }
});
