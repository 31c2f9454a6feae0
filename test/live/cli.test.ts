/** The command line on the running machine: exit status, errors, signals, pipes. */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { isRunning, launcher, needsSampling, polytop } from "../support/polytop.ts";

/** A control character other than the end of a line. */
const ESCAPE = /[^\P{Cc}\n]/u;

/** Has installed its handlers, SIGHUP's last: until then Node's own and the kernel's defaults hold. */
function catchesSignals(pid: number): boolean {
  const mask = /^SigCgt:\s*(\w+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return (BigInt(`0x${mask ?? "0"}`) & 1n) === 1n;
}

/** Ids of the BPF programs that a process holds. */
function loadedPrograms(pid: number): string[] {
  const folder = `/proc/${pid}/fdinfo`;
  return readdirSync(folder).flatMap((name) => {
    try {
      return /^prog_id:\s*(\d+)/m.exec(readFileSync(`${folder}/${name}`, "utf8"))?.[1] ?? [];
    } catch {
      return []; // It was closed meanwhile.
    }
  });
}

const isLoaded = (program: string): boolean =>
  spawnSync("bpftool", ["prog", "show", "id", program]).status === 0;

/** Runs a line of shell in which "$0" is polytop. */
const shell = (line: string) => polytop(["-c", line, launcher], { command: "/bin/bash" });

describe("without any privilege", () => {
  /** As root that may do nothing: no capability survives the exec. */
  const powerless = (...args: string[]) =>
    polytop(["--bounding-set=-all", "--inh-caps=-all", launcher, ...args], {
      command: "/usr/bin/setpriv",
    });

  test("help and version", async () => {
    const help = await powerless("--help");
    expect(help).toMatchObject({ status: 0, stderr: "" });
    expect(help.stdout).toContain("Examples:");
    expect(await powerless("-v")).toMatchObject({ status: 0, stderr: "" });
  });

  test("doctor says what is missing, and how to mend it", async () => {
    const { status, stdout } = await powerless("doctor");
    expect(status).toBe(3);
    expect(stdout).toMatch(/fail {2}capabilities .*CAP_BPF, CAP_PERFMON/);
    expect(stdout).toMatch(/mend: /);
    expect(stdout.trimEnd().endsWith("polytop cannot run here.")).toBe(true);
  });

  test("sampling ends with status 3 and the same words in two lines", async () => {
    const { status, stdout, stderr } = await powerless("--once");
    expect(status).toBe(3);
    expect(stdout).toBe("");
    expect(stderr.trimEnd().split("\n")).toHaveLength(2);
    expect(stderr).toContain("lacks CAP_BPF, CAP_PERFMON");
  });
});

describe("wrong usage ends with status 2 and one line", () => {
  test.each([
    [["--frequency", "0"]],
    [["--unknown"]],
    [["word"]],
    [["-p", "4194304"]],
    [["-p", "x"]],
    [["--once", "-f", "/("]],
    [["record"]],
    [["--pprof"]],
  ])("%j", async (args) => {
    const { status, stdout, stderr } = await polytop(args);
    expect(status).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toMatch(/^polytop: .+\n$/);
  });

  test("a stack trace comes only when asked for", async () => {
    expect((await polytop(["-x"])).stderr).not.toContain(" at ");
    expect((await polytop(["-x"], { env: { POLYTOP_DEBUG: "1" } })).stderr).toContain(" at ");
  });
});

describe("plain output of the running machine", () => {
  test("--once is a table without escapes", async (context) => {
    needsSampling(context);
    const { status, stdout } = await polytop(["--once"]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^# polytop {2}/);
    expect(stdout).toMatch(/^# +SELF% +TOTAL% +LANG +FUNCTION +MODULE$/m);
    expect(stdout).not.toMatch(ESCAPE);
  });

  test("without a terminal the live view is plain text", async (context) => {
    needsSampling(context);
    const { status, stdout } = await polytop(["-n", "1", "-d", "0.2"], { env: { CI: "true" } });
    expect(status).toBe(0);
    expect(stdout).toMatch(/^# polytop {2}/);
  });

  test("--json: an object a line, whose sums agree", async (context) => {
    needsSampling(context);
    const { status, stdout } = await polytop(["--json", "-n", "2", "-d", "0.5", "--rows", "0"]);
    expect(status).toBe(0);
    const lines = stdout.trimEnd().split("\n");
    expect(lines).toHaveLength(2);
    for (const line of lines) {
      expect(line).not.toMatch(ESCAPE);
      const { schema, samples, stacks, functions, intervalSeconds } = JSON.parse(line);
      expect(schema).toBe("polytop.snapshot/1");
      expect(stacks.complete + stacks.guessed + stacks.truncated + stacks.broken).toBe(samples);
      const selves = functions.map((row: { self: number }) => row.self);
      expect(selves.reduce((a: number, b: number) => a + b, 0)).toBe(samples);
      // The times are even: behind a late refresh the next one is short, by half at most.
      expect(intervalSeconds).toBeGreaterThan(0.2);
    }
  });

  test("--folded: stacks and counts, also when it is stopped", async (context) => {
    needsSampling(context);
    const { status, stdout } = await shell(
      'trap "" INT; "$0" --folded -F 499 & sleep 3; kill -TERM $!; wait $!',
    );
    expect(status).toBe(0);
    const lines = stdout.trimEnd().split("\n");
    expect(lines.filter((line) => !/^[^;]+(;[^;]+)+ [1-9]\d*$/.test(line))).toEqual([]);
    expect(stdout).not.toMatch(ESCAPE);
  });

  test("-p shows that process and no other", async (context) => {
    needsSampling(context);
    const { stdout, status } = await shell(
      'while :; do :; done & trap "kill $!" EXIT; "$0" --json -n 1 -p $!; echo $!',
    );
    const [line = "", pid] = stdout.trimEnd().split("\n");
    const { processes, samples } = JSON.parse(line);
    expect(samples).toBeGreaterThan(0);
    expect(processes.map((row: { pid: number }) => row.pid)).toEqual([Number(pid)]);
    expect(status).toBe(0);
  });

  test("the id of a thread is no process", async () => {
    const { status, stderr } = await shell(
      '"$0" -p "$(ls /proc/$PPID/task | grep -v "^$PPID$" | head -1)" --once',
    );
    expect(status).toBe(2);
    expect(stderr).toMatch(/is a thread of process \d+: use -p \d+/);
  });
});

describe("how it ends", () => {
  test("a pipe that closes ends it quietly", async (context) => {
    needsSampling(context);
    const line = '"$0" --json -d 0.1 -p $$ | head -1 >/dev/null; echo $PIPESTATUS';
    expect(await shell(line)).toMatchObject({ stdout: "0\n", stderr: "", status: 0 });
    const reader = '"$0" --help | true; echo $PIPESTATUS';
    expect(await shell(reader)).toMatchObject({ stdout: "0\n", stderr: "" });
  });

  test("a signal ends it also when its reader does not read", async (context) => {
    needsSampling(context);
    const { stdout } = await shell(
      'exec 3> >(exec sleep 20); s=$!; "$0" --json -d 0.1 --rows 0 -F 999 >&3 & p=$!; ' +
        "sleep 3; kill -TERM $p; wait $p; echo $? $SECONDS; kill $s",
    );
    const [status, seconds] = stdout.split(" ").map(Number);
    expect(status).toBe(0);
    // Before its reader would have ended.
    expect(seconds).toBeLessThan(20);
  });

  test("a full disk is an error of one line", async (context) => {
    needsSampling(context);
    // Of other programs there may be something to say.
    for (const args of ["--once -p $$", "--help", "--version", "doctor --json"]) {
      const { status, stderr } = await shell(`"$0" ${args} > /dev/full`);
      expect(status).toBe(1);
      expect(stderr).toMatch(/^polytop: cannot write: .*ENOSPC.*\n$/);
    }
  });

  test.for(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "%s ends it with status 0",
    async (name, context) => {
      needsSampling(context);
      let running = 0;
      const args = ["--batch", "-d", "0.1", "-p", `${process.pid}`];
      const { status, signal, stderr } = await polytop(args, {
        onStdout: (_text, pid) => {
          running = pid;
          process.kill(pid, name);
        },
      });
      expect({ status, signal, stderr }).toEqual({ status: 0, signal: null, stderr: "" });
      expect(isRunning(running)).toBe(false);
    },
  );

  test("a signal while it starts ends it too", async () => {
    const { status, signal } = await polytop(["--batch"], {
      onStart: async (pid) => {
        while (!catchesSignals(pid)) await sleep(5);
        process.kill(pid, "SIGTERM");
      },
    });
    expect(signal).toBeNull();
    expect([0, 3]).toContain(status);
  });

  test.for(["SIGTERM", "SIGKILL"] as const)(
    "nothing stays in the kernel after %s",
    async (name, context) => {
      needsSampling(context);
      let programs: string[] = [];
      await polytop(["--batch", "-d", "0.1"], {
        onStdout: (_text, pid) => {
          if (programs.length === 0) programs = loadedPrograms(pid);
          process.kill(pid, name);
        },
      });
      expect(programs.length).toBeGreaterThan(0);
      // The kernel frees programs a moment after their last user has gone.
      for (let i = 0; i < 50 && programs.some(isLoaded); i++) await sleep(100);
      expect(programs.filter(isLoaded)).toEqual([]);
    },
  );

  test("two at once do not disturb each other", async (context) => {
    needsSampling(context);
    // Of other programs there may be something to say.
    const once = () => polytop(["--json", "--once", "-p", `${process.pid}`]);
    const both = await Promise.all([once(), once()]);
    for (const { status, stdout, stderr } of both) {
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      expect(JSON.parse(stdout).schema).toBe("polytop.snapshot/1");
    }
  });
});
