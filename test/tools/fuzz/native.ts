/** Runs a harness of test/fuzz/harness with libFuzzer, and says which lines of the parsers its inputs reach. */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../support/polytop.ts";
import { keep, unpack } from "./corpora.ts";
import type { Harness } from "./harnesses.ts";
import { writeSeeds } from "./seeds.ts";

const place = join(root, "build/fuzz");
const LLVM = process.env.LLVM ?? "/usr/lib/llvm-19";

export interface Limits {
  readonly seconds: number;
  readonly runs: number;
}

/** What a harness did. */
export interface Outcome {
  readonly runs: number;
  readonly seconds: number;
  /** Files that it ended with. */
  readonly findings: readonly string[];
  /** How many inputs are kept. */
  readonly inputs: number;
  readonly lines: string;
}

/** Builds the harnesses. */
export function build(): void {
  execFileSync("make", ["-s", "-j2", "-C", root, "fuzz"], { stdio: ["ignore", 2, 2] });
}

/** Runs a harness until its limits are reached or it ends with a finding; keeps the smallest set of inputs. */
export async function fuzz(harness: Harness, limits: Limits): Promise<Outcome> {
  const { name } = harness;
  const [all, small, findings] = ["all", "small", "findings"].map((it) => join(place, it, name));
  for (const path of [all, small, findings]) mkdirSync(path ?? "", { recursive: true });
  const [inputs = "", smallest = "", found = ""] = [all, small, findings];
  unpack(name, inputs);
  writeSeeds(join(place, "seeds"));
  const common = [
    `-max_len=${harness.longest}`,
    "-rss_limit_mb=1024",
    "-timeout=60",
    `-artifact_prefix=${found}/`,
  ];
  const search = [
    `-max_total_time=${limits.seconds}`,
    `-runs=${limits.runs}`,
    "-use_value_profile=1",
    "-print_final_stats=1",
    "-verbosity=1",
  ];
  const begun = performance.now();
  const log = await run(name, [...common, ...search, inputs, join(place, "seeds", name)]);
  const seconds = (performance.now() - begun) / 1000;
  rmSync(smallest, { recursive: true });
  mkdirSync(smallest);
  await run(name, [...common, "-merge=1", smallest, inputs, join(place, "seeds", name)]);
  keep(name, smallest);
  return {
    runs: Number(/number_of_executed_units: (\d+)/.exec(log)?.[1] ?? 0),
    seconds,
    findings: readdirSync(found),
    inputs: readdirSync(smallest).length,
    lines: coverage(harness, smallest),
  };
}

/** What libFuzzer prints. It gets what the others leave of the machine. */
function run(name: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const env = {
      ...process.env,
      POLYTOP_HARNESS: name,
      ASAN_OPTIONS: "detect_leaks=0:allocator_may_return_null=1",
    };
    const child = spawn("nice", ["-n", "19", join(place, "fuzz"), ...args], {
      env,
      stdio: ["ignore", "ignore", "pipe"],
    });
    let log = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      log = (log + text).slice(-100_000);
    });
    child.on("error", reject);
    child.on("close", () => {
      if (process.env.POLYTOP_DEBUG) console.error(log);
      const finding =
        /^(==\d+==ERROR.*|does not hold:.*|.*runtime error:.*|==\d+== ERROR: libFuzzer.*)$/m.exec(
          log,
        );
      if (finding) console.error(`${name}: ${finding[1]}`);
      resolve(log);
    });
  });
}

interface Export {
  readonly data: readonly {
    readonly files: readonly {
      readonly filename: string;
      readonly summary: { readonly lines: { readonly count: number; readonly covered: number } };
    }[];
  }[];
}

/** Which share of the lines of each source the inputs reach. */
function coverage({ name, sources }: Harness, inputs: string): string {
  const program = join(root, "build/covered/replay");
  const [raw, merged] = ["profraw", "profdata"].map((it) => join(place, `${name}.${it}`));
  const env = { ...process.env, LLVM_PROFILE_FILE: raw };
  execFileSync(program, [name, inputs], { env, stdio: "ignore" });
  execFileSync(join(LLVM, "bin/llvm-profdata"), [
    "merge",
    "-sparse",
    raw ?? "",
    "-o",
    merged ?? "",
  ]);
  const files = sources.map((it) => join("native", it));
  const summary = ["export", "-summary-only", `-instr-profile=${merged}`, program, ...files];
  const options = { cwd: root, encoding: "utf8", maxBuffer: 1 << 28 } as const;
  const { data } = JSON.parse(execFileSync(join(LLVM, "bin/llvm-cov"), summary, options)) as Export;
  return (data[0]?.files ?? [])
    .map(({ filename, summary: { lines } }) => {
      const share = Math.floor((100 * lines.covered) / Math.max(lines.count, 1));
      return `${filename.slice(filename.lastIndexOf("/") + 1)} ${share} %`;
    })
    .join(", ");
}
