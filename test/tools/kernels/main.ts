/**
 * Runs polytop on the kernels of Debian's suites, each in a virtual machine with emulated CPUs, and prints what
 * became of it. Run with the project's Node: node test/tools/kernels/main.ts [suite…]
 * The kernels are kept in ~/.cache/polytop/kernels (POLYTOP_KERNELS names another place).
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname } from "node:path";
import { argv, env, execPath } from "node:process";
import { dotnetProgram, SHAPES } from "../../support/dotnet.ts";
import { Lacking, percent, printCells } from "../../support/measure.ts";
import { root } from "../../support/polytop.ts";
import { WAIT_SHARES } from "../../support/waits.ts";
import { plugin, workload } from "../../support/workloads.ts";
import { type Findings, FREEZE_MARK, MARK, PROGRAMS_FILE, type Program } from "./findings.ts";

const cache = env.POLYTOP_KERNELS ?? `${homedir()}/.cache/polytop/kernels`;
/** Kernels 5.10, 6.1 and 6.12: each keeps the mappings of a process in another way, or the time of a file. */
const SUITES = ["bullseye", "bookworm", "trixie"];
const QEMU = "qemu-system-x86_64";
const TIMEOUT_MS = 900_000;
/** So long a virtual machine stands still. */
const FREEZE_MS = 5000;
/** What must be complete and named: the programs' own code is, whatever the kernel. */
const BAR = 0.99;
/** Points by which shares of waiting may be off on an emulated CPU. */
const NEAR = 4;

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

/** Boots the kernel of a suite on this machine's own files, read-only; resolves to what the console said. */
function boot(suite: string): Promise<string> {
  const guest = `${execPath} ${root}test/tools/kernels/guest.ts`;
  const args = [
    ...["-machine", "q35", "-accel", "tcg", "-cpu", "max", "-smp", "2", "-m", "2G"],
    ...["-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio"],
    ...["-kernel", `${cache}/${suite}/vmlinuz`, "-initrd", `${cache}/${suite}/initramfs`],
    "-virtfs",
    "local,path=/,mount_tag=machine,security_model=none,readonly=on,multidevs=remap",
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

function isFetched(suite: string): boolean {
  const made = `${cache}/${suite}/initramfs`;
  const init = `${root}test/tools/kernels/init`;
  return existsSync(made) && statSync(made).mtimeMs > statSync(init).mtimeMs;
}

async function run(suite: string): Promise<Findings> {
  if (!isFetched(suite)) {
    const fetch = `${root}test/tools/kernels/fetch-kernel`;
    execFileSync(fetch, [cache, suite], { stdio: ["ignore", "ignore", "inherit"] });
  }
  const console = await boot(suite);
  const line = console.split(/\r?\n/).find((it) => it.startsWith(MARK));
  if (line === undefined) throw new Error(`nothing was found: ${console.slice(-2000)}`);
  return JSON.parse(line.slice(MARK.length)) as Findings;
}

const WIDTHS = [24, 10, 10, 28, 8, 12, 12, 6];

const print = (cells: readonly string[]): void => printCells(cells, WIDTHS);

/** Prints what was found; whether all of it is as it must be. */
function show(found: Findings): boolean {
  let holds = found.error === "";
  const common = [found.error ? "NO" : "yes", `${found.startSeconds.toFixed(0)} s`];
  for (const { name, samples, complete, named, hasFunction } of found.programs) {
    const good = hasFunction && Math.min(complete, named) >= BAR * samples && samples > 0;
    holds &&= good;
    const figures = [String(samples), percent(complete, samples), percent(named, samples)];
    print([found.release, ...common, name, ...figures, good ? "yes" : "NO"]);
  }
  const { wrong, shares, complete, hasDeadlock } = found.waits;
  const isNear = WAIT_SHARES.every((share, at) => Math.abs(share - (shares[at] ?? 0)) <= NEAR);
  const good = wrong.length === 0 && isNear && complete >= BAR && hasDeadlock;
  holds &&= good;
  const figures = [
    shares.map((share) => Math.round(share)).join("/"),
    percent(complete, 1),
    hasDeadlock ? "ring" : "NO ring",
  ];
  print([found.release, ...common, "waits", ...figures, good ? "yes" : "NO"]);
  const { events } = found;
  const isRight = events.wrong.length === 0 && events.complete >= BAR;
  holds &&= isRight;
  const counted = [events.hits, percent(events.complete, 1), percent(events.inFunction, 1)];
  print([found.release, ...common, "events", ...counted.map(String), isRight ? "yes" : "NO"]);
  for (const one of [...wrong, ...events.wrong]) console.log(`  ${one}`);
  for (const change of found.changes) {
    holds &&= change.wrong.length === 0;
    print([found.release, ...common, change.what, "", "", "", change.wrong.length ? "NO" : "yes"]);
    for (const one of change.wrong) console.log(`  ${one}`);
  }
  for (const complaint of [...found.doctor, found.error].filter(Boolean))
    console.log(`  ${complaint}`);
  return holds;
}

if (spawnSync(QEMU, ["--version"]).error) {
  console.error(`${QEMU} is missing: apt-get install qemu-system-x86`);
  process.exit(3);
}
let held = true;
mkdirSync(dirname(PROGRAMS_FILE), { recursive: true });
for (const source of ["waits.c", "touches.c", "datagrams.c"]) workload(source);
workload("loader.c", { flags: ["-ldl"] });
for (const name of ["in_first", "in_other"]) plugin(name);
writeFileSync(PROGRAMS_FILE, JSON.stringify(buildPrograms()));
print(["kernel", "runs", "first", "program", "samples", "complete", "named", "holds"]);
for (const suite of argv.length > 2 ? argv.slice(2) : SUITES) held = show(await run(suite)) && held;
process.exit(held ? 0 : 1);
