/** What older kernels ask of the BPF programs, which the running one may not. */
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { BUILD_MILLISECONDS, buildTools, run, tool } from "../native/tools.ts";
import { dist, needsSampling } from "../support/polytop.ts";

beforeAll(buildTools, BUILD_MILLISECONDS);

/** MAX_BPF_STACK, for all frames of a chain of calls. */
const MOST_BYTES = 512;

test.for(["polytop.bpf.o", "wait.bpf.o"])(
  "no chain of calls of %s takes more stack than there is",
  { timeout: 30_000 },
  (object, context) => {
    needsSampling(context);
    const lines = run(tool("stack_depth"), [join(dist, object)])
      .trim()
      .split("\n");
    const depths = lines.map((line) => Number(line.split(" ")[1]));
    expect(Math.min(...depths)).toBeGreaterThan(0);
    expect(Math.max(...depths), lines.join(", ")).toBeLessThanOrEqual(MOST_BYTES);
  },
);
