/** Describes frames of .NET that are no named method: the name says what they are, `whyUnnamed` why. */
import {
  DOTNET_STUB_BARRIER,
  DOTNET_STUB_COUNTING,
  DOTNET_STUB_DISPATCH,
  DOTNET_STUB_DYNAMIC_HELPER,
  DOTNET_STUB_FIXUP_PRECODE,
  DOTNET_STUB_IMAGE,
  DOTNET_STUB_JUMP,
  DOTNET_STUB_LOOKUP,
  DOTNET_STUB_OTHER,
  DOTNET_STUB_PRECODE,
  DOTNET_STUB_RESOLVE,
  DOTNET_STUB_SHUFFLE,
  DOTNET_STUB_STUB_PRECODE,
  DOTNET_STUB_TABLE,
  DOTNET_STUB_WRAPPER,
} from "../../../build/abi.ts";
import type { NamedFunction } from "../reader.ts";
import { Unreadable } from "./memory.ts";

const COMPILES = "it leads to a method, which may have to be compiled first";

const STUBS = new Map<number, readonly [name: string, meaning: string]>([
  [
    DOTNET_STUB_OTHER,
    [
      "runtime stub",
      "code that the runtime wrote, such as thunks of delegates and generic methods",
    ],
  ],
  [DOTNET_STUB_IMAGE, ["call thunk", "it leads precompiled code to what it calls"]],
  [
    DOTNET_STUB_BARRIER,
    ["write barrier", "it notes for the garbage collector that a reference was written"],
  ],
  [
    DOTNET_STUB_COUNTING,
    ["call counting stub", "it counts the calls of a method until that is compiled again"],
  ],
  [DOTNET_STUB_JUMP, ["jump stub", "it leads to code that is too far away for a jump"]],
  [DOTNET_STUB_PRECODE, ["precode", COMPILES]],
  [DOTNET_STUB_STUB_PRECODE, ["stub precode", COMPILES]],
  [DOTNET_STUB_FIXUP_PRECODE, ["fixup precode", COMPILES]],
  [
    DOTNET_STUB_DYNAMIC_HELPER,
    ["dynamic helper", "it does for precompiled code what depends on types"],
  ],
  [
    DOTNET_STUB_DISPATCH,
    ["virtual dispatch stub", "it leads a call of an interface to the method of one type"],
  ],
  [
    DOTNET_STUB_RESOLVE,
    ["virtual resolve stub", "it looks for the method that an interface's call means"],
  ],
  [
    DOTNET_STUB_LOOKUP,
    ["virtual lookup stub", "it leads the first call of an interface to the runtime"],
  ],
  [DOTNET_STUB_TABLE, ["virtual table stub", "it leads a virtual call to the method"]],
  [
    DOTNET_STUB_WRAPPER,
    ["wrapper stub", "it adds what a method of a generic or boxed type is called with"],
  ],
  [DOTNET_STUB_SHUFFLE, ["shuffle thunk", "it moves the arguments of a delegate's call"]],
]);

/** What is behind a reason, by its text, and what helps, where something does. */
const HINTS = new Map([
  [
    "its memory could not be read",
    "the process ended before it could be asked, or polytop may not read it (CAP_SYS_PTRACE)",
  ],
  [
    "its process was not known when it was met",
    "it ended before what was told of the method was looked at",
  ],
  ["its code was collected", "a dynamic method or assembly, which the runtime unloaded meanwhile"],
  [
    "its name was not told at its first sight",
    "the memory of a dynamic method's name was not there when it was sampled",
  ],
  [
    "its dynamic assembly has no metadata yet",
    "it is being made; methods that are met later are named",
  ],
  ["its file could not be read", "it was removed or replaced since it was mapped"],
  [
    "its image does not say which method this code belongs to",
    "a generic instance that only the runtime knows, or a helper of the compiler",
  ],
]);

/** Describes a method without a name. */
export function unnamed(reason: string): NamedFunction {
  const hint = HINTS.get(reason);
  return {
    runtime: "dotnet",
    name: `[unnamed method: ${reason}]`,
    module: "",
    whyUnnamed: hint === undefined ? reason : `${reason}: ${hint}`,
  };
}

/** Returns what `resolve` finds, else an unnamed method that says why it found none. */
export function attempt(
  resolve: () => { readonly name: string; readonly module: string; readonly body?: string },
): NamedFunction {
  try {
    return { runtime: "dotnet", ...resolve() };
  } catch (error) {
    if (error instanceof Unreadable) return unnamed(error.message);
    // Corrupt metadata leads behind its own end.
    if (error instanceof RangeError) return unnamed("its metadata is damaged");
    throw error;
  }
}

/** Describes code of the runtime between methods, by its kind. */
export function stub(kind: number): NamedFunction {
  const [name, meaning] = STUBS.get(kind) ?? [
    `stub of kind ${kind}`,
    "of a kind that is not known",
  ];
  return {
    runtime: "dotnet",
    name: `[${name}]`,
    module: "",
    whyUnnamed: `a stub of the runtime and no method: ${meaning}`,
  };
}
