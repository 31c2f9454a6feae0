/** What the tests of the running machine share. */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "vitest";
import { root } from "./polytop.ts";
import { type FoldedStack, type SampleOptions, sampleFolded, share } from "./profile.ts";

/** Samples that a statement about a program needs at least. */
export const ENOUGH = 150;

/** The name that the kernel keeps of a program: 15 bytes. */
export const commOf = (path: string): string =>
  path.slice(path.lastIndexOf("/") + 1, 15 + path.lastIndexOf("/") + 1);

/** Stacks by the name of their process. */
export class Stacks {
  readonly all: readonly FoldedStack[];

  constructor(all: readonly FoldedStack[]) {
    this.all = all;
  }

  of(path: string): Stacks {
    return new Stacks(this.all.filter(({ comm }) => comm === commOf(path)));
  }

  get samples(): number {
    return share(this.all, () => true).samples;
  }

  /** The share of samples that fulfil a condition on their frames (root first). */
  share(condition: (frames: readonly string[]) => boolean): number {
    const { hits, samples } = share(this.all, ({ frames }) => condition(frames));
    return samples > 0 ? hits / samples : 0;
  }

  /** The share of stacks whose outermost frame is no reason why the walk stopped. */
  get complete(): number {
    return this.share(([outermost = "["]) => !outermost.startsWith("["));
  }

  /** The share of stacks that reach an outermost frame by guesses. */
  get guessed(): number {
    return this.share(([outermost]) => outermost === "[guessed]");
  }

  /** All functions met. */
  get names(): Set<string> {
    return new Set(this.all.flatMap(({ frames }) => frames));
  }
}

/** Samples these programs until there are enough samples of each, also on a machine that is busy with others. */
export async function sampleEnough(
  paths: readonly string[],
  options: SampleOptions,
): Promise<Stacks> {
  let stacks = new Stacks([]);
  for (let attempt = 0; attempt < 5; attempt++) {
    stacks = new Stacks([...stacks.all, ...(await sampleFolded(options))]);
    if (paths.every((path) => stacks.of(path).samples >= ENOUGH)) break;
  }
  return stacks;
}

/** Whether these names appear in this order, root first, with anything between them. */
export function inOrder(frames: readonly string[], names: readonly string[]): boolean {
  let at = 0;
  for (const frame of frames) if (frame === names[at]) at++;
  return at === names.length;
}

/** Frames without the kernel's. */
export const userFrames = (frames: readonly string[]): string[] =>
  frames.filter((frame) => !frame.endsWith("_[k]"));

/** Runs something once, for whichever test needs it first. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** A folder for the time of `use`. */
export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "polytop-live-"));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A folder for the time of a test whose files polytop reads before they are run; skips where the clone is on no disk. */
export function folderOnDisk(context: TestContext): string {
  const folder = mkdtempSync(`${root}build/live-`);
  context.onTestFinished(() => rmSync(folder, { recursive: true }));
  if (statSync(folder).dev < 256)
    context.skip("this clone is on no disk: its files are not prepared");
  return folder;
}
