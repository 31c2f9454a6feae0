/** bin/polytop and bin/setup: what starts, and from where. */
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { launcher, needsSampling, polytop, root } from "../support/polytop.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "polytop-launcher-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** An installation in a folder of its own, with these programs as `node`. */
function install(name: string, nodes: Readonly<Record<string, string>>): string {
  const place = join(folder, name);
  mkdirSync(join(place, "bin"), { recursive: true });
  mkdirSync(join(place, "dist"));
  copyFileSync(launcher, join(place, "bin/polytop"));
  copyFileSync(join(root, "package.json"), join(place, "package.json"));
  writeFileSync(join(place, "dist/cli.js"), "");
  for (const [path, text] of Object.entries(nodes)) {
    mkdirSync(join(place, path, ".."), { recursive: true });
    writeFileSync(join(place, path), `#!/bin/sh\n${text}\n`);
    chmodSync(join(place, path), 0o755);
  }
  return join(place, "bin/polytop");
}

/** A Node of some version that says how it was called. */
const fakeNode = (version: string, name: string): string =>
  `[ "$1" = --version ] && echo ${version} && exit\necho "${name} NODE_ENV=$NODE_ENV FORCE_COLOR=$FORCE_COLOR"`;

describe("the launcher", () => {
  test("finds itself through links", async () => {
    symlinkSync(launcher, join(folder, "one"));
    symlinkSync("one", join(folder, "two"));
    const { stdout, status } = await polytop(["--version"], { command: join(folder, "two") });
    expect(stdout).toMatch(/^polytop \d/);
    expect(status).toBe(0);
  });

  test("opens no port for debuggers at a signal", async (context) => {
    needsSampling(context);
    let seen = 0;
    const { stderr, status } = await polytop(["--batch", "-d", "0.1"], {
      onStdout: (_text, pid) => {
        seen++;
        if (seen === 1) process.kill(pid, "SIGUSR1");
        if (seen === 10) process.kill(pid, "SIGTERM");
      },
    });
    expect(stderr).not.toMatch(/debug/i);
    expect(status).toBe(0);
  });

  test("becomes Node: no second process stays", async (context) => {
    needsSampling(context);
    let program = "";
    await polytop(["--batch", "-d", "0.1"], {
      onStdout: (_text, pid) => {
        program ||= readlinkSync(`/proc/${pid}/exe`);
        process.kill(pid, "SIGTERM");
      },
    });
    expect(program).toMatch(/\/node$/);
  });

  test("prefers its own Node", async () => {
    const command = install("own", {
      "node_modules/node/bin/node": fakeNode("v24.0.0", "own"),
      "path/node": fakeNode("v26.0.0", "other"),
    });
    const env = { PATH: `${join(folder, "own/path")}:/usr/bin:/bin` };
    expect((await polytop([], { command, env })).stdout).toMatch(/^own NODE_ENV=production/);
  });

  test.each([
    ["v22.1.0", 0],
    ["v24.21.0", 0],
    ["v100.0.0", 0],
    ["v20.19.5", 3],
    ["v9.0.0", 3],
  ])("takes the machine's Node %s only when it is new enough", async (version, status) => {
    const name = `path-${version}`;
    const command = install(name, { "path/node": fakeNode(version, "path") });
    const env = { PATH: `${join(folder, name, "path")}:/usr/bin:/bin` };
    const finished = await polytop([], { command, env });
    expect(finished.status).toBe(status);
    if (status === 0) expect(finished.stdout).toMatch(/^path /);
    else expect(finished.stderr).toContain(`needs Node.js 22 or later, found ${version}`);
  });

  test("says so when it is not built", async () => {
    const command = install("unbuilt", { "node_modules/node/bin/node": fakeNode("v24.0.0", "x") });
    rmSync(join(folder, "unbuilt/dist/cli.js"));
    const { status, stderr } = await polytop([], { command });
    expect(status).toBe(3);
    expect(stderr).toContain("not built yet");
  });

  test.each<[string, string[], Record<string, string>, string]>([
    ["colours by default", [], {}, ""],
    ["NO_COLOR", [], { NO_COLOR: "1" }, "0"],
    ["an empty NO_COLOR does not count", [], { NO_COLOR: "" }, ""],
    ["--no-color", ["-b", "--no-color"], {}, "0"],
  ])("%s", async (name, args, env, value) => {
    const place = name.replaceAll(/\W/g, "");
    const node = { "node_modules/node/bin/node": fakeNode("v24.0.0", "own") };
    const { stdout } = await polytop(args, { command: install(place, node), env });
    expect(stdout).toBe(`own NODE_ENV=production FORCE_COLOR=${value}\n`);
  });
});

describe("set-up", () => {
  test("is silent when nothing is missing", async () => {
    await polytop(["--test"], { command: `${root}bin/setup`, timeoutMs: 120_000 });
    const finished = await polytop(["echo", "a  b"], { command: `${root}bin/setup` });
    expect(finished).toMatchObject({ status: 0, stdout: "a  b\n", stderr: "" });
  });

  test("npm start prints what polytop prints and nothing else", async () => {
    const direct = await polytop(["doctor", "--json"], { command: `${root}bin/polytop` });
    const script = 'cd "$0" && exec npm start -- doctor --json';
    const started = await polytop(["-c", script, root], { command: "/bin/sh" });
    expect(started.stdout).toBe(direct.stdout);
    expect(started.status).toBe(direct.status);
  });
});
