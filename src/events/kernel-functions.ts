/** Functions of the kernel. */
import { existsSync, readFileSync } from "node:fs";
import { EVENT_KERNEL_FUNCTION, EVENT_KERNEL_RETURN } from "../../build/abi.ts";
import type { ResolvedEvent } from "../addon/events.ts";
import type { EventRequest } from "../tick/event-request.ts";
import { didYouMean } from "./closest.ts";
import { matcher } from "./pattern.ts";
import { cannot, MOST_LINKS } from "./probed-files.ts";

/** Functions of the kernel that may be probed have symbols of code. */
export function kernelFunctions(): string[] {
  return readFileSync("/proc/kallsyms", "latin1")
    .split("\n")
    .flatMap((line) => /^\S+ [tT] (\S+)/.exec(line)?.[1] ?? []);
}

/** Whether this kernel probes functions of its own. */
export const hasKprobes = (): boolean => existsSync("/sys/bus/event_source/devices/kprobe");

/** Finds the functions of the kernel that are asked for. Throws a UserError where none can be probed. */
export function resolveKernelFunction({
  text,
  pattern,
  isReturn,
}: EventRequest & { kind: "kernel-function" }): ResolvedEvent {
  if (!hasKprobes()) {
    throw cannot(
      `${text}: this kernel was built without kprobes (CONFIG_KPROBES)\nTracepoints may tell the same: \`polytop list events\``,
    );
  }
  const all = new Set(kernelFunctions());
  const found = [...all].filter(matcher(pattern));
  if (found.length === 0) {
    const hint = didYouMean(pattern, all);
    throw cannot(`${text}: this kernel has no function ${pattern}${hint && `\n${hint}`}`);
  }
  if (found.length > MOST_LINKS) {
    throw cannot(
      `${text} stands for ${found.length} functions, more than the ${MOST_LINKS} that are probed at once: make it narrower`,
    );
  }
  const kind = isReturn ? EVENT_KERNEL_RETURN : EVENT_KERNEL_FUNCTION;
  return { name: text, unit: "events", setup: { name: text, kind, functions: found } };
}
