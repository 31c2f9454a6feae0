/** The least that a profiler in the kernel can do, running: bpf_get_stackid(), which follows frame pointers. */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { runNanoseconds } from "../../support/bpftool.ts";
import { root } from "../../support/polytop.ts";

/** Builds the program to compare with: the loader, and the BPF object beside it. */
function buildStackId(): { readonly loader: string; readonly object: string } {
  const folder = `${root}build/bench/`;
  const sources = `${root}test/tools/bench/`;
  const [loader, object] = [`${folder}stackid`, `${folder}stackid.bpf.o`];
  mkdirSync(folder, { recursive: true });
  const bpf = ["-g", "-O2", "-target", "bpf", "-isystem", "/usr/include/x86_64-linux-gnu", "-c"];
  execFileSync("clang-19", [...bpf, `${sources}stackid.bpf.c`, "-o", object]);
  execFileSync("gcc", ["-O2", `${sources}stackid.c`, "-o", loader, "-lbpf"]);
  return { loader, object };
}

/** Totals since the start. */
export interface Totals {
  readonly nanoseconds: number;
  readonly samples: number;
  /** Those of which a stack was had. */
  readonly taken: number;
}

/** That program, sampling `pid`, or all where it is 0, on each CPU. */
export class StackId {
  readonly #child;
  #answer: ((line: string) => void) | undefined;

  constructor(pid: number, frequency: number) {
    const { loader, object } = buildStackId();
    this.#child = spawn(loader, [object, String(pid), String(frequency)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => this.#answer?.(text));
    this.#child.on("exit", () => this.#answer?.(""));
  }

  async totals(): Promise<Totals> {
    const line = new Promise<string>((resolve) => {
      this.#answer = resolve;
    });
    this.#child.stdin.write("\n");
    const nanoseconds = runNanoseconds(this.#child.pid ?? -1);
    const [samples = 0, taken = 0] = (await line).split(" ").map(Number);
    return { nanoseconds, samples, taken };
  }

  close(): void {
    this.#child.stdin.end();
  }
}
