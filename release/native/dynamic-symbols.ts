/** The dynamic symbols of an ELF file, as readelf prints them. */
import { execFileSync } from "node:child_process";

/** A symbol that a file defines or asks for. */
export interface DynamicSymbol {
  readonly name: string;
  /** The family of versions: `GLIBC`, `GLIBCXX`, `GCC`, …; empty: the symbol has none. */
  readonly set: string;
  /** Such as `2.28`. */
  readonly version: string;
  /** `FUNC`, `OBJECT`, `TLS`, … */
  readonly type: string;
  readonly size: number;
  readonly isDefined: boolean;
  readonly isWeak: boolean;
}

const readelf = (...args: readonly string[]): string =>
  execFileSync("readelf", ["-W", ...args], { encoding: "utf8", maxBuffer: 1 << 28 });

/** All of them; local ones are left out. */
export function dynamicSymbols(file: string): DynamicSymbol[] {
  return readelf("--dyn-syms", file)
    .split("\n")
    .flatMap((line): DynamicSymbol[] => {
      const [, , size = "", type = "", binding = "", , index = "", full = ""] = line
        .trim()
        .split(/\s+/);
      if (!["GLOBAL", "WEAK", "UNIQUE"].includes(binding)) return [];
      const [name = "", label = ""] = full.split(/@+/);
      const [, set = "", version = ""] = /^([A-Z]+)_([0-9.]+)$/.exec(label) ?? [];
      const isDefined = index !== "UND";
      return [
        { name, set, version, type, size: Number(size), isDefined, isWeak: binding === "WEAK" },
      ];
    });
}

/** The libraries that a file is linked with. */
export function neededLibraries(file: string): string[] {
  return [...readelf("--dynamic", file).matchAll(/\(NEEDED\).*\[(.+)\]/g)].map(
    ([, name = ""]) => name,
  );
}

/** A number that versions are in order by: 2.28 before 2.3.4 is wrong, 2.3.4 before 2.28 is right. */
export function versionNumber(version: string): number {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  return (major * 1000 + minor) * 1000 + patch;
}
