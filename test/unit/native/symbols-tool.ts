/** The command-line tool of native/naming and native/lines, and how to ask it; see test/native/symbols_tool.cpp. */
import { execFileSync } from "node:child_process";
import { checkedTool, tool } from "../../native/tools.ts";

export { BUILD_MILLISECONDS, buildTools } from "../../native/tools.ts";

export const TOOL = tool("symbols_tool");
/** The same with memory and undefined behaviour checked. */
export const CHECKED_TOOL = checkedTool("symbols_tool");

/** Standard output of a command, in lines. */
export function run(command: string, args: readonly string[], input = ""): string[] {
  const options = { input, encoding: "utf8", maxBuffer: 256 * 1024 * 1024 } as const;
  return execFileSync(command, args, options).split("\n").slice(0, -1);
}

export function demangle(names: readonly string[], tool = TOOL): string[] {
  return run(tool, ["demangle"], names.map((name) => `${name}\n`).join(""));
}

interface Lookup {
  readonly offset: bigint;
  readonly functionStart?: bigint;
}

/** What is at each offset: `start name` (start in hexadecimal), or `-`. */
export function find(file: string, lookups: readonly Lookup[], root = "/nonexistent"): string[] {
  const lines = lookups.map(
    (it) => `${it.offset.toString(16)} ${(it.functionStart ?? 0n).toString(16)}\n`,
  );
  return run(TOOL, ["find", file, root], lines.join(""));
}

export interface ElfSymbol {
  readonly offset: bigint;
  readonly size: bigint;
  readonly name: string;
}

/** Functions with a size, by binutils' account, with file offsets. */
export function readelfFunctions(file: string): ElfSymbol[] {
  const segments = run("readelf", ["-lW", file]).flatMap((line) => {
    const [type, offset, address, , size] = line.trim().split(/\s+/);
    if (type !== "LOAD" || !/ R.E /.test(line)) return [];
    return [
      { offset: BigInt(offset ?? 0), address: BigInt(address ?? 0), size: BigInt(size ?? 0) },
    ];
  });
  return run("readelf", ["-sW", file]).flatMap((line) => {
    const [, value, size, type, , , section, name] = line.trim().split(/\s+/);
    if ((type !== "FUNC" && type !== "IFUNC") || section === "UND" || name === undefined) return [];
    const address = BigInt(`0x${value}`);
    const segment = segments.find((it) => address >= it.address && address < it.address + it.size);
    if (segment === undefined || BigInt(size ?? 0) === 0n) return [];
    const offset = address - segment.address + segment.offset;
    return [{ offset, size: BigInt(size ?? 0), name: name.replace(/@.*/, "") }];
  });
}
