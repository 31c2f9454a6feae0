/** The newest .NET of NuGet, with the runtime in the program's folder. */
import { dotnetProgram, type Shape } from "../../support/dotnet.ts";
import { start } from "../../support/profile.ts";
import { complete, namesAgainstPerfMap, shares } from "../accuracy/dotnet.ts";
import type { Newest, Tried } from "./finding.ts";
import { noticesOf, rowOf } from "./notices.ts";
import { offeredByNuget } from "./offered.ts";

async function tried(version: string): Promise<Tried> {
  const [major = ""] = version.split(".");
  const shape: Shape = {
    name: `newest-${version}`,
    framework: `net${major}.0`,
    version,
    flags: ["--self-contained", "true"],
  };
  const named = await namesAgainstPerfMap(shape);
  const whole = await complete(shape);
  const parts = await shares(shape);
  return {
    notices: await noticesOf(start(dotnetProgram(shape), ["mix"])),
    complete: rowOf(whole, /complete/),
    named: rowOf(named, /perf map/),
    shares: rowOf(parts, /use/),
  };
}

export const dotnet = (): Newest[] => {
  const version = offeredByNuget("Microsoft.NETCore.App.Runtime.linux-x64");
  return [{ what: ".NET", version, from: "NuGet", run: () => tried(version) }];
};
