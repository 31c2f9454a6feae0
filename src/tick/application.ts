/**
 * Which functions are an application's own: a thread always waits in the kernel, called by the C library or a
 * framework, and what its reader asks is who called these.
 */
import type { Runtime } from "./runtimes.ts";
import type { FunctionInfo } from "./tick.ts";

/** The C library, the loader, and what language runtimes are made of; by the names of their files. */
const RUNTIME_FILES =
  /^(libc|libpthread|librt|libm|libdl|libgcc_s|libstdc\+\+|libc\+\+|ld-linux[-\w]*|ld-musl[-\w]*|libcoreclr|libclrjit|libclrgc|libhostpolicy|libhostfxr|libSystem\.[\w.]+|libperl|libpython[\d.]+|libuv)(-[\d.]+)?\.so|^(ld-linux[-\w]*|ld-musl[-\w]*|dotnet|perl|python[\d.]*|\[vdso\])$/;

/** Assemblies that come with .NET. */
const FRAMEWORK = /^(System|Microsoft|mscorlib|netstandard|WindowsBase)(\.|$)/;

/** What .NET's runtime makes to call native code: dynamic methods, as those that an application makes. */
const CALL_STUB = /^IL_STUB_/;

/** The languages whose functions are written down by somebody, with native code only below them. */
const WRITTEN: readonly Runtime[] = ["perl", "python", "javascript"];

/** Whether a function is the kernel's, a library's that everybody has, or a language runtime's. */
export function isLibrary({ runtime, name, module }: FunctionInfo): boolean {
  if (runtime === "kernel") return true;
  if (runtime === "dotnet") return module === "" || FRAMEWORK.test(module) || CALL_STUB.test(name);
  // Code outside of any file, and the reason why a walk ended, belong to nobody that is known.
  if (runtime === "native") return name.startsWith("[") || RUNTIME_FILES.test(module);
  return false;
}

/**
 * The place of the innermost function that is the application's, in a stack with its leaf first; -1 if there is none.
 * Native code that a Perl sub called is that sub's, and so with Python and JavaScript: it is the sub that somebody wrote.
 */
export function innermostOwn(stack: readonly FunctionInfo[]): number {
  const own = stack.findIndex((info) => !isLibrary(info));
  if (own < 0 || stack[own]?.runtime !== "native") return own;
  const written = stack.findIndex(({ runtime }) => WRITTEN.includes(runtime));
  return Math.max(own, written);
}
