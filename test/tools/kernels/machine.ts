/**
 * Boots a kernel of Debian in a virtual machine with emulated CPUs, on this machine's own files, and has polytop run
 * there. The kernels are kept in ~/.cache/polytop/kernels (POLYTOP_KERNELS names another place).
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname } from "node:path";
import { env, execPath } from "node:process";
import { dotnetProgram, SHAPES } from "../../support/dotnet.ts";
import { Lacking } from "../../support/measure.ts";
import { root } from "../../support/polytop.ts";
import { plugin, workload } from "../../support/workloads.ts";
import { type Findings, FREEZE_MARK, MARK, PROGRAMS_FILE, type Program } from "./findings.ts";
import { shareFiles } from "./shared-files.ts";

const cache = env.POLYTOP_KERNELS ?? `${homedir()}/.cache/polytop/kernels`;
const QEMU = "qemu-system-x86_64";
const MEMORY = "2G";
/** On a busy machine the emulated CPUs get little. */
const TIMEOUT_MS = 3_600_000;
/** So long a virtual machine stands still. */
const FREEZE_MS = 5000;

const PERL =
  "sub leaf { my $n = shift; return $n * 3 % 7 } sub middle { leaf($_) for 1 .. 100 } middle() while 1;";

function buildPrograms(): Program[] {
  const isCopied = true;
  const deep = { command: workload("deep.c"), args: ["60"], function: "descend" };
  const perl = { command: "/usr/bin/perl", args: ["-e", PERL], function: "main::leaf" };
  const programs: Program[] = [
    { name: "C, 60 deep", isCopied, ...deep },
    { name: "Perl", isCopied, ...perl },
  ];
  try {
    const [command = ""] = SHAPES.slice(0, 1).map(dotnetProgram);
    const dotnet = { command, args: ["deep", "40"], function: "Truth.Work.Turns" };
    programs.push({ name: ".NET", isCopied: false, ...dotnet });
  } catch (error) {
    if (!(error instanceof Lacking)) throw error;
    console.log(`without .NET: ${error.message}`);
  }
  return programs;
}

/** Boots a kernel on this machine's own files, read-only; resolves to what the console said. */
async function boot(kernel: string): Promise<string> {
  const files = await shareFiles(kernel, MEMORY);
  try {
    return await consoleOf(kernel, files.args);
  } finally {
    files.close();
  }
}

function consoleOf(kernel: string, files: readonly string[]): Promise<string> {
  const guest = `${execPath} ${root}test/tools/kernels/guest.ts`;
  const args = [
    ...["-machine", "q35", "-accel", "tcg", "-cpu", "max", "-smp", "2", ...files],
    ...["-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio"],
    ...["-kernel", `${cache}/${kernel}/vmlinuz`, "-initrd", `${cache}/${kernel}/initramfs`],
    "-append",
    `console=ttyS0 quiet panic=-1 polytop_root=${root} polytop_guest="${guest}"`,
  ];
  return new Promise((resolve, reject) => {
    const child = spawn("nice", [QEMU, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    const timer = setTimeout(() => child.kill("SIGKILL"), TIMEOUT_MS);
    let console = "";
    let stops = 0;
    const keep = (text: string): void => {
      console += text;
      if (stops > 0 || !console.includes(FREEZE_MARK)) return;
      stops++;
      // Its clock goes on, as that of a machine that was moved or suspended.
      child.kill("SIGSTOP");
      setTimeout(() => child.kill("SIGCONT"), FREEZE_MS);
    };
    child.stdout.setEncoding("utf8").on("data", keep);
    child.stderr.setEncoding("utf8").on("data", keep);
    child.on("error", reject);
    child.on("close", () => {
      clearTimeout(timer);
      resolve(console);
    });
  });
}

function isFetched(kernel: string): boolean {
  const made = `${cache}/${kernel}/initramfs`;
  const init = `${root}test/tools/kernels/init`;
  return existsSync(made) && statSync(made).mtimeMs > statSync(init).mtimeMs;
}

/** Builds what runs in the virtual machines, which cannot build any. Throws Lacking without QEMU. */
export function prepareGuest(): void {
  if (spawnSync(QEMU, ["--version"]).error)
    throw new Lacking(`${QEMU} is missing: apt-get install qemu-system-x86`);
  mkdirSync(dirname(PROGRAMS_FILE), { recursive: true });
  for (const source of ["waits.c", "touches.c", "datagrams.c"]) workload(source);
  workload("loader.c", { flags: ["-ldl"] });
  for (const name of ["in_first", "in_other"]) plugin(name);
  writeFileSync(PROGRAMS_FILE, JSON.stringify(buildPrograms()));
}

/** What polytop does on a kernel, which is fetched at its first use. After prepareGuest(). */
export async function runOn(kernel: string): Promise<Findings> {
  if (!isFetched(kernel)) {
    const fetch = `${root}test/tools/kernels/fetch-kernel`;
    execFileSync(fetch, [cache, kernel], { stdio: ["ignore", "ignore", "inherit"] });
  }
  const console = await boot(kernel);
  const line = console.split(/\r?\n/).find((it) => it.startsWith(MARK));
  if (line === undefined) throw new Error(`nothing was found: ${console.slice(-2000)}`);
  return JSON.parse(line.slice(MARK.length)) as Findings;
}
