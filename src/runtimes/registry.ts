/**
 * The readers of all runtimes: to name the frames of a new one, add its reader here, and its row to
 * src/tick/runtimes.ts.
 */
import type { Addon } from "../addon/binding.ts";
import type { Sampler } from "../addon/sampler.ts";
import { DotnetReader } from "./dotnet/reader.ts";
import { JavaScriptReader } from "./javascript/reader.ts";
import { JitReader } from "./jit/reader.ts";
import { KernelReader } from "./kernel/reader.ts";
import { NativeReader } from "./native/reader.ts";
import { PerlReader } from "./perl/reader.ts";
import { PythonReader } from "./python/reader.ts";
import type { RuntimeReader } from "./reader.ts";

/**
 * One reader for each runtime. They are asked in this order: native code is what nobody else knows better.
 * `tellsBodies`: frames say which body of their function they are (Frame.body).
 */
export const runtimeReaders = (
  addon: Addon,
  sampler: Sampler,
  tellsBodies: boolean,
): readonly RuntimeReader[] => [
  new PerlReader(),
  new PythonReader(),
  new JavaScriptReader(tellsBodies),
  new DotnetReader(sampler, new addon.MethodFinder(), { tellsBodies }),
  new KernelReader(addon, sampler),
  new JitReader(),
  new NativeReader(sampler),
];
