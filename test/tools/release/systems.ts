/** Systems to try a release in: root folders that hold nothing of this machine's. */
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { env } from "node:process";
import { TestTerminal } from "../../screen/terminal.ts";
import { Lacking } from "../../support/measure.ts";
import { type Finished, polytop, root } from "../../support/polytop.ts";

const IN_ROOT = join(root, "test/tools/release/in-root");
/** Kept from run to run. */
const cache = env.POLYTOP_ROOTS ?? `${homedir()}/.cache/polytop/roots`;
const TIMEOUT_MS = 120_000;

/** How a command is run there. */
export interface InsideOptions {
  /** For the shell, outside and before: more mounts, say. `$root` is the folder. */
  readonly before?: string;
  /** More of what the system tells to every command. */
  readonly environment?: string;
}

/** A root folder of its own, to be changed at will. */
export class System {
  readonly folder = mkdtempSync(join(tmpdir(), "polytop-root-"));
  readonly name: string;
  /** What every command in it is told: NAME=VALUE, separated by spaces. */
  environment = "";

  constructor(name: string, base: string | undefined) {
    this.name = name;
    if (base) execFileSync("cp", ["-a", "--reflink=auto", `${base}/.`, this.folder]);
  }

  #environment({ before = "", environment = "" }: InsideOptions): Record<string, string> {
    return { BEFORE: before, MORE_ENV: `${this.environment} ${environment}` };
  }

  /** Runs a command in it to its end. */
  run(command: readonly string[], options: InsideOptions = {}): Promise<Finished> {
    const env = this.#environment(options);
    return polytop([this.folder, ...command], { command: IN_ROOT, env, timeoutMs: TIMEOUT_MS });
  }

  /** Runs a command of its shell; throws where that fails. */
  async sh(command: string, options: InsideOptions = {}): Promise<string> {
    const { status, stdout, stderr } = await this.run(["/bin/sh", "-c", command], options);
    if (status !== 0) throw new Error(`${command}: ${status}: ${stderr || stdout}`);
    return stdout;
  }

  /** Starts a command in a terminal. */
  terminal(command: readonly string[], columns = 120, rows = 30): TestTerminal {
    return new TestTerminal(IN_ROOT, [this.folder, ...command], {
      columns,
      rows,
      env: this.#environment({}),
    });
  }

  /** Puts a file of this machine into a folder of it. */
  put(file: string, folder: string): void {
    mkdirSync(join(this.folder, folder), { recursive: true });
    copyFileSync(file, join(this.folder, folder, file.split("/").at(-1) ?? ""));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The smallest system that debootstrap makes of a suite. */
export function debian(suite: string): System {
  const base = join(cache, suite);
  if (!existsSync(base)) {
    if (!existsSync("/usr/sbin/debootstrap")) throw new Lacking("apt-get install debootstrap");
    mkdirSync(cache, { recursive: true });
    const fresh = join(cache, `.new-${suite}`);
    rmSync(fresh, { recursive: true, force: true });
    const args = ["debootstrap", "--variant=minbase", suite, fresh];
    execFileSync("nice", [...args, "http://deb.debian.org/debian"], { stdio: "ignore" });
    execFileSync("mv", [fresh, base]);
  }
  return new System(suite, base);
}

/** What a minimal Debian has, as far as an installation of polytop and its checks use it. */
const MINIMAL =
  "base-files base-passwd coreutils dash diffutils dpkg findutils grep gzip mawk sed tar util-linux libc-bin libstdc++6 ncurses-base debconf perl-base";

/** A system of those packages as they are installed on this machine: no download. */
export function ownDebian(): System {
  if (!existsSync("/usr/bin/dpkg-query")) throw new Lacking("this machine is no Debian");
  const system = new System("this Debian, minimal", undefined);
  const program = join(root, "test/tools/release/own-debian");
  execFileSync(program, [system.folder, ...MINIMAL.split(" ")]);
  return system;
}

/** Busybox and nothing else, with or without a C library that is not glibc. */
export function busybox(library: "musl" | "none"): System {
  const system = new System(`busybox, ${library === "musl" ? "musl" : "no C library"}`, undefined);
  const program = "/bin/busybox";
  if (!existsSync(program)) throw new Lacking("apt-get install busybox-static");
  system.put(program, "bin");
  execFileSync("chroot", [system.folder, program, "--install", "-s", "/bin"]);
  for (const folder of ["root", "tmp", "usr/bin", "lib"])
    mkdirSync(join(system.folder, folder), { recursive: true });
  if (library === "musl") {
    const musl = "/lib/x86_64-linux-musl/libc.so";
    if (!existsSync(musl)) throw new Lacking("apt-get install musl");
    cpSync(musl, join(system.folder, "lib/ld-musl-x86_64.so.1"));
  }
  return system;
}
