/** Rows of a stack that say something of the functions that await what it carries out, whatever their runtime. */
import { SCHEDULER_THREAD_POOL } from "../../build/abi.ts";
import type { Runtime } from "../tick/runtimes.ts";
import type { NewFrames } from "./new-frames.ts";
import type { NamedFrame } from "./reader.ts";

const mark = (runtime: Runtime, name: string, whyUnnamed: string): NamedFrame => ({
  function: { runtime, name, module: "", whyUnnamed },
  detail: { awaits: "mark" },
});

/** The row that a new frame of a runtime is where it is one about those that await; undefined where it is none. */
export function markOfAwaits(
  frames: NewFrames,
  index: number,
  runtime: Runtime,
): NamedFrame | undefined {
  if (frames.isFirstOfSeveral(index)) {
    return mark(
      runtime,
      "[several await: the first]",
      "several functions await what is further in: the callers are those of the first one",
    );
  }
  if (!frames.isScheduledBy(index)) return undefined;
  return frames.value(index) === BigInt(SCHEDULER_THREAD_POOL)
    ? mark(runtime, "[thread pool]", "a thread of the pool resumed what is further in")
    : mark(runtime, "[scheduler]", "what resumed the function further in is no caller of it");
}
