/** One program, built in all the ways that programs come: its stacks are whole and its functions are named. */
import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { ENOUGH, once, sampleEnough, userFrames } from "../support/live.ts";
import { needsSampling } from "../support/polytop.ts";
import { during, start } from "../support/profile.ts";
import { VARIANTS, type Variant, workload } from "../support/workloads.ts";

const DEPTH = 30;
const variants = Object.keys(VARIANTS) as Variant[];
const build = (variant: Variant): string => workload("deep.c", { variant });

const sampled = once(() => {
  const paths = variants.map(build);
  return during(
    paths.map((path) => start(path, [String(DEPTH)])),
    (pids) => sampleEnough(paths, { seconds: 4, frequency: 999, pids }),
  );
});

/** Address of a function in a file that still has its symbols. */
function addressOf(path: string, name: string): string {
  const line = execFileSync("nm", [path], { encoding: "utf8" })
    .split("\n")
    .find((it) => it.endsWith(` ${name}`));
  return Number.parseInt(line ?? "", 16).toString(16);
}

/** How the three functions are called: without symbols by where they start, which stripping does not change. */
function namesIn(variant: Variant): { main: string; descend: string; leaf: string } {
  const isBare = variant === "stripped" || variant === "noSections";
  const name = (symbol: string): string =>
    isBare ? `deep-${variant}+0x${addressOf(build("plain"), symbol)}` : symbol;
  return { main: name("main"), descend: name("descend"), leaf: name("leaf") };
}

describe("a C program", () => {
  test.for(variants)("built %s", { timeout: 60_000 }, async (variant, context) => {
    needsSampling(context);
    const stacks = (await sampled()).of(build(variant));
    expect(stacks.samples).toBeGreaterThanOrEqual(ENOUGH);
    expect(stacks.complete).toBeGreaterThanOrEqual(0.99);

    const { main, descend, leaf } = namesIn(variant);
    const chain = [main, ...Array<string>(DEPTH).fill(descend), leaf].join(";");
    const whole = stacks.share((frames) => userFrames(frames).join(";").endsWith(chain));
    expect(whole).toBeGreaterThanOrEqual(0.99);
  });
});
