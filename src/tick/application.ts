/**
 * Which functions are an application's own: a thread always waits in the kernel, called by the C library or a
 * framework, and what its reader asks is who called these.
 */
import { isRuntimeFile, RUNTIME_ROWS } from "./runtimes.ts";
import type { FunctionInfo } from "./tick.ts";

/** Assemblies that come with .NET. */
const FRAMEWORK = /^(System|Microsoft|mscorlib|netstandard|WindowsBase)(\.|$)/;

/** What .NET's runtime makes to call native code: dynamic methods, as those that an application makes. */
const CALL_STUB = /^IL_STUB_/;

/** Whether a function is the kernel's, a library's that everybody has, or a language runtime's. */
export function isLibrary({ runtime, name, module }: FunctionInfo): boolean {
  if (runtime === "kernel") return true;
  if (runtime === "dotnet") return module === "" || FRAMEWORK.test(module) || CALL_STUB.test(name);
  // Code outside of any file, and the reason why a walk ended, belong to nobody that is known.
  if (runtime === "native") return name.startsWith("[") || isRuntimeFile(module);
  return false;
}

/**
 * The place of the innermost function that is the application's, in a stack with its leaf first; -1 if there is none.
 * Native code that a function of an interpreter called is that function's: it is what somebody wrote.
 */
export function innermostOwn(stack: readonly FunctionInfo[]): number {
  const own = stack.findIndex((info) => !isLibrary(info));
  if (own < 0 || stack[own]?.runtime !== "native") return own;
  const written = stack.findIndex(({ runtime }) => RUNTIME_ROWS[runtime].ownsNative);
  return Math.max(own, written);
}
