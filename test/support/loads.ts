/** Loads that keep the machine busy in the ways that people's machines are. */

import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { dotnetProgram, runSdk, SHAPES } from "./dotnet.ts";
import { Lacking } from "./measure.ts";
import { javascriptPrograms, ownNode } from "./node.ts";
import { root } from "./polytop.ts";
import { type Running, start } from "./profile.ts";
import { machinesPython, pythonPrograms } from "./python.ts";
import { workload } from "./workloads.ts";

const folder = `${root}build/workloads/`;

/** A C++ file that costs a compiler about a second: templates of the standard library, all different. */
const source = (number: number): string => `
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
template <int N> struct Item${number} { std::map<std::string, std::vector<int>> values; std::variant<int, std::string, double> kind; };
template <int N> int add(Item${number}<N>& item, const std::string& text) {
  static const std::regex word("([a-z]+)" + std::to_string(N) + "([0-9]+)");
  std::smatch found;
  if (std::regex_match(text, found, word)) item.values[found[1]].push_back(std::stoi(found[2]));
  std::vector<std::function<int(int)>> steps{[&](int x) { return x + N; }, [&](int x) { return x * N; }};
  std::sort(item.values.begin()->second.begin(), item.values.begin()->second.end(), [](int a, int b) { return a % N < b % N; });
  return std::accumulate(steps.begin(), steps.end(), N, [](int sum, auto& step) { return step(sum); });
}
${[1, 2, 3, 4, 5].map((n) => `int use${number}_${n}(const std::string& text) { Item${number}<${n}> item; return add(item, text); }`).join("\n")}
`;

/** Shell: goes on until what started it is gone, also where that was killed and could stop nothing. */
const WHILE_WANTED = "while kill -0 $PPID 2>/dev/null; do";

/** Compiles C++ files for ever, as many at once as there are CPUs. */
export function compileLoop(): Running {
  const place = `${folder}compile/`;
  mkdirSync(place, { recursive: true });
  const numbers = [1, 2, 3, 4, 5, 6];
  for (const number of numbers) writeFileSync(`${place}unit${number}.cpp`, source(number));
  const objects = numbers.map((number) => `unit${number}.o`).join(" ");
  writeFileSync(`${place}Makefile`, `all: ${objects}\n%.o: %.cpp\n\tg++ -O2 -c -o $@ $<\n`);
  return start(
    "/bin/sh",
    ["-c", `${WHILE_WANTED} make -s -B -j${cpus().length} all || exit; done`],
    {
      cwd: place,
    },
  );
}

/** The same program under a name of our own: names of processes are those of the links that start them. */
function link(name: string, target: string): string {
  mkdirSync(folder, { recursive: true });
  const path = folder + name;
  rmSync(path, { force: true });
  symlinkSync(target, path);
  return path;
}

const PERL = "sub add { my ($n) = @_; return $n + 1 } my $n = 0; $n = add($n) while $n < COUNT;";

/** Names of the processes that perlLoop() starts. */
export const PERL_LOOP = { shell: "polytop-shell", perl: "polytop-perl" };

/** Starts `perl -e …` for ever: processes that live some 15 ms each. */
export function perlLoop(): Running {
  const perl = link(PERL_LOOP.perl, "/usr/bin/perl");
  const shell = link(PERL_LOOP.shell, "/bin/bash");
  // The fastest of several runs: others only make a run slower.
  const time = (count: number): number => {
    let best = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 5; i++) {
      const begin = performance.now();
      spawnSync(perl, ["-e", PERL.replace("COUNT", String(count))]);
      best = Math.min(best, performance.now() - begin);
    }
    return best;
  };
  const empty = time(1);
  const rate = 50_000 / (time(50_000) - empty);
  const count = Math.max(1000, Math.round(rate * (15 - empty)));
  const program = PERL.replace("COUNT", String(count));
  return start(shell, ["-c", `${WHILE_WANTED} ${perl} -e '${program}'; done`]);
}

/** Name of the processes that shortLoop() starts, beside its shell of the same name as perlLoop()'s. */
export const SHORT_C = "polytop-short";

/** Starts a C program of libc alone for ever: processes that live some 15 ms each. */
export function shortLoop(): Running {
  const flags = ["-DFUNCTION=in_short", "-DDEPTH=5", "-DROUNDS=10000000"];
  const program = workload("execs.c", { as: SHORT_C, flags });
  const shell = link(PERL_LOOP.shell, "/bin/bash");
  return start(shell, ["-c", `${WHILE_WANTED} ${program}; done`]);
}

const HOT_PERL =
  "sub leaf { my $n = shift; return $n * 3 % 7 } sub middle { my $s = 0; $s += leaf($_) for 1 .. 100; return $s } middle() while 1;";

/** Keeps every CPU busy with the same few stacks: deep C, and an interpreter. */
export function hotLoops(): Running[] {
  return cpus().map((_, at) =>
    at % 2 === 0 ? start(workload("deep.c"), ["60"]) : start("/usr/bin/perl", ["-e", HOT_PERL]),
  );
}

/** Keeps every CPU busy with programs that end after half a millisecond, some 1,400 starts a second on two. */
export function execLoops(): Running[] {
  const build = (name: string, depth: number): string =>
    workload("execs.c", {
      as: `execs-${name}`,
      flags: [`-DFUNCTION=in_${name}`, `-DDEPTH=${depth}`, "-DROUNDS=200000"],
    });
  const [one, two] = [build("one", 1), build("two", 2)];
  return cpus().map((_, at) => (at % 2 === 0 ? start(one, [two]) : start(two, [one])));
}

const POD =
  'use Pod::Man; while (1) { my $page; my $man = Pod::Man->new; $man->output_string(\\$page); $man->parse_file($INC{"Pod/Man.pm"}) }';

/** Keeps every CPU busy with one Perl program of many different stacks. */
export function podLoops(): Running[] {
  return cpus().map(() => start("/usr/bin/perl", ["-e", POD]));
}

/** Keeps every CPU busy with one Python program of many different stacks. */
export function pythonLoops(): Running[] {
  const python = machinesPython();
  if (typeof python === "string") throw new Lacking(python);
  const [command = "", ...args] = python.command;
  return cpus().map(() => start(command, [...args, `${pythonPrograms}/many.py`]));
}

/** Keeps every CPU busy with a Node program whose functions are new, compiled and dropped for ever. */
export const compilationStorms = (): Running[] =>
  cpus().map(() => start(ownNode, [`${javascriptPrograms}/storm.cjs`]));

/** The system's: those of others elsewhere in the PATH are of other sizes. */
const RUSTC = "/usr/bin/rustc";

/** Compiles a Rust program of one line for ever: three large files at work. */
export function rustLoop(): Running {
  if (!existsSync(RUSTC)) throw new Lacking(`${RUSTC} is not installed`);
  const place = `${folder}rust/`;
  mkdirSync(place, { recursive: true });
  writeFileSync(`${place}one.rs`, 'fn main() { println!("{}", std::env::args().count()) }\n');
  return start("/bin/sh", ["-c", `${WHILE_WANTED} ${RUSTC} -O one.rs || exit; done`], {
    cwd: place,
  });
}

const CROWD = { programs: 50, processes: 40, threads: 10, workMicroseconds: 800 };

/** Keeps 2,000 processes of 50 programs a little busy, with 20,000 threads in all. */
export function crowd(): Running[] {
  const { programs, processes, threads, workMicroseconds } = CROWD;
  const sizes = [processes, threads, workMicroseconds, 1_000_000].map(String);
  return Array.from({ length: programs }, (_, at) =>
    start(workload("crowd.c", { as: `crowd-${at}`, flags: [`-DFUNCTION=in_crowd_${at}`] }), sizes),
  );
}

const LARGE = { programs: 20, seconds: 20 };

/** Runs programs of 115 MB and a million unwind rows one after the other, on every CPU another one. */
export function largePrograms(): Running[] {
  const { programs, seconds } = LARGE;
  const one = workload("large.c");
  const copies = Array.from({ length: programs }, (_, at) => `${one}-${at}`);
  for (const copy of copies) if (!existsSync(copy)) copyFileSync(one, copy);
  return cpus().map((_, cpu) => {
    const first = Math.floor((cpu * programs) / cpus().length);
    const turns = [...copies.slice(first), ...copies.slice(0, first)];
    const each = turns.map((copy) => `timeout --foreground ${seconds} ${copy}`).join("; ");
    return start("/bin/sh", ["-c", `${WHILE_WANTED} ${each}; done`]);
  });
}

/** Starts a single-file .NET program for ever, which lives some 0.7 s. */
export function dotnetStarts(): Running {
  const shape = SHAPES.find(({ name }) => name === "net10-single");
  if (!shape) throw new Lacking("no shape of the program is a single file");
  return start("/bin/sh", ["-c", `${WHILE_WANTED} ${dotnetProgram(shape)} brief 400; done`]);
}

/** Builds a .NET program of one line for ever; no server of the build stays behind. */
export function dotnetBuilds(): Running {
  const place = `${folder}dotnet-one/`;
  mkdirSync(place, { recursive: true });
  writeFileSync(
    `${place}one.csproj`,
    '<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><TargetFramework>net10.0</TargetFramework><OutputType>Exe</OutputType></PropertyGroup></Project>',
  );
  writeFileSync(`${place}One.cs`, 'System.Console.WriteLine("built");\n');
  runSdk(["restore"], place);
  const options = "--no-restore --no-incremental -nodeReuse:false -p:UseSharedCompilation=false";
  const build = `dotnet build ${options} -v q || exit`;
  return start("/bin/sh", ["-c", `${WHILE_WANTED} ${build}; done`], { cwd: place });
}
