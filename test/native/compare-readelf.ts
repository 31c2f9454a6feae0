/**
 * Compares the rows of dump_unwind with what readelf of binutils makes of the same file:
 *   node test/native/compare-readelf.ts DUMP_UNWIND FILE...
 * Every row of every FDE is compared at its first byte, and the rule must not change before its last.
 */
import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** DWARF register numbers of x86-64 (psABI figure 3.36) by the names that readelf prints. */
const REGISTERS = ["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"];

/** How a rule can agree with readelf: "equal" where both texts are the same fact, else why readelf says less. */
type Agreement =
  | "equal"
  | "plt"
  | "deref"
  | "signal"
  | "other register"
  | "odd expression"
  | "registers elsewhere"
  | "return address by expression";

interface CodeRange {
  readonly address: number;
  readonly offset: number;
  readonly size: number;
}

/** One row of readelf: its columns by name ("CFA", "rbp", "ra", …). */
type Cells = Readonly<Record<string, string | undefined>>;

interface FrameEntry {
  readonly start: number;
  readonly end: number;
  rows: { readonly address: number; readonly cells: Cells }[];
}

/** The rows of dump_unwind: parallel arrays, ascending by file offset. */
interface Dump {
  readonly offsets: number[];
  readonly rules: string[];
}

export interface Comparison {
  readonly file: string;
  /** FDEs and rows that readelf has in the executable segments. */
  fdes: number;
  rows: number;
  readonly counts: Partial<Record<Agreement, number>>;
  /** In words. */
  readonly mismatches: string[];
}

function run(command: string, args: readonly string[]): string {
  const { stdout, stderr, error } = spawnSync(command, args, {
    encoding: "latin1",
    maxBuffer: 2 ** 30,
    env: { ...process.env, LC_ALL: "C" },
  });
  if (error) throw error;
  // readelf also fails for a separate debug file that is not there, after printing everything.
  if (stdout === "") throw new Error(`${command}: ${stderr.slice(0, 500)}`);
  return stdout;
}

const hex = (text: string | undefined): number => Number.parseInt(text ?? "", 16);

/** The executable PT_LOAD segments of `readelf -lW`. */
function parseLoads(text: string): CodeRange[] {
  const pattern = /^\s+LOAD\s+0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) 0x\w+ (.{3})/gm;
  return [...text.matchAll(pattern)]
    .filter((match) => match[4]?.includes("E"))
    .map((match) => ({ offset: hex(match[1]), address: hex(match[2]), size: hex(match[3]) }));
}

/** The FDEs of `readelf --debug-dump=frames-interp`; addresses are virtual. */
function parseFrames(text: string): FrameEntry[] {
  const head =
    /^([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ (CIE|FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+))/;
  const entries: FrameEntry[] = [];
  const initial = new Map<string, Cells>();
  let entry: FrameEntry | undefined;
  let cie: string | undefined;
  let columns: string[] = [];
  for (const line of text.split("\n")) {
    const match = head.exec(line);
    if (match) {
      columns = [];
      entry = undefined;
      cie = match[2] === "CIE" ? match[1] : undefined;
      if (cie !== undefined) continue;
      entry = { start: hex(match[4]), end: hex(match[5]), rows: [] };
      // An FDE without instructions of its own has no row in the output: it is its CIE's.
      const cells = initial.get(match[3] ?? "");
      if (cells) entry.rows.push({ address: entry.start, cells });
      entries.push(entry);
    } else if (line.startsWith("   LOC")) {
      columns = line.trim().split(/\s+/).slice(1);
      if (entry) entry.rows = [];
    } else if (columns.length > 0 && /^[0-9a-f]{16} /.test(line)) {
      // A register is printed as "r3 (rbx)".
      const fields = line
        .trim()
        .replace(/(\br\d+) \(\w+\)/g, "$1")
        .split(/\s+/);
      const cells = Object.fromEntries(columns.map((name, i) => [name, fields[i + 1]]));
      if (cie !== undefined) initial.set(cie, cells);
      else entry?.rows.push({ address: hex(fields[0]), cells });
    }
  }
  return entries;
}

/** By address; of those with the same start the one that reaches further. */
function sortEntries(entries: readonly FrameEntry[]): FrameEntry[] {
  const sorted = entries
    .filter(({ start, end }) => end > start)
    .sort((a, b) => a.start - b.start || b.end - a.end);
  return sorted.filter((entry, i) => sorted[i - 1]?.start !== entry.start);
}

function parseDump(text: string): Dump {
  const dump: Dump = { offsets: [], rules: [] };
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const space = line.indexOf(" ");
    dump.offsets.push(hex(line.slice(0, space)));
    dump.rules.push(line.slice(space + 1));
  }
  return dump;
}

/** The index of the last row at or below the offset, -1 if there is none. */
function findRow(dump: Dump, offset: number): number {
  let low = 0;
  let high = dump.offsets.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((dump.offsets[middle] ?? Number.POSITIVE_INFINITY) <= offset) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** readelf writes "u" for a register that is undefined and for one that nothing was said of. */
const isUnsaved = (cell: string | undefined): boolean =>
  cell === undefined || cell === "u" || cell === "s";

const isSaved = (cell: string | undefined): boolean => /^c[+-]\d+$/.test(cell ?? "");

function isSameRbp(rule: string, cell: string | undefined): boolean {
  const own = / rbp=(\S+)/.exec(rule)?.[1];
  if (isUnsaved(cell)) return own === "same" || (cell === "u" && own === "undefined");
  if (cell === "exp" || cell === "vexp") return own !== "same";
  return isSaved(cell) ? own === cell : own === "undefined";
}

/** Whether a rule says of rbx what readelf's cell says; few files have rules that say anything. */
function isSameRbx(rule: string, cell: string | undefined): boolean {
  const own = / rbx=(\S+)/.exec(rule)?.[1];
  return own === undefined || own === (isUnsaved(cell) ? "same" : cell);
}

function judgeExpression(rule: string, { rbp, rsp, ra }: Cells): Agreement | undefined {
  if (rule.startsWith("signal")) {
    return rbp === "exp" && rsp === "exp" && ra === "exp" ? "signal" : undefined;
  }
  if (rule === "unsupported") return "odd expression";
  if (!isSameRbp(rule, rbp)) return undefined;
  if (rule.startsWith("plt/")) return "plt";
  return /^(\*\(r[sb]p|r\w+[+-])/.test(rule) ? "deref" : undefined;
}

/** Whether a rule says what readelf's cells say; undefined if not. */
function judge(rule: string, cells: Cells): Agreement | undefined {
  if (!isSameRbx(rule, cells.rbx)) return undefined;
  const { CFA: cfa, rbp, rsp, ra } = cells;
  if (ra === "u") return rule === "end" ? "equal" : undefined;
  if (cfa === "exp") return judgeExpression(rule, cells);
  if (rule === "unsupported") {
    // The caller's rip or rsp in a register: the end of longjmp.
    return isSaved(ra) && (isUnsaved(rsp) || rsp === "v+0") ? undefined : "registers elsewhere";
  }
  const own = /^(\w+)([+-]\d+) .* ra=(\S+)$/.exec(rule);
  const register = REGISTERS[Number(/^r(\d+)$/.exec(own?.[1] ?? "")?.[1])] ?? own?.[1];
  if (!own || cfa !== `${register}${own[2]}` || !isSameRbp(rule, rbp)) return undefined;
  if (ra === "exp") return "return address by expression";
  if (ra !== own[3]) return undefined;
  return register === "rsp" || register === "rbp" ? "equal" : "other register";
}

/** Compares the rows that `tool` (dump_unwind) prints for a file with readelf's. */
export function compareFile(tool: string, file: string): Comparison {
  const loads = parseLoads(run("readelf", ["-lW", file]));
  const dump = parseDump(run(tool, [file]));
  const entries = sortEntries(parseFrames(run("readelf", ["--debug-dump=frames-interp", file])));
  const result: Comparison = { file, fdes: 0, rows: 0, counts: {}, mismatches: [] };
  const ruleAt = (index: number): string => dump.rules[index] ?? "none";

  entries.forEach((entry, i) => {
    const load = loads.find((l) => entry.start >= l.address && entry.start < l.address + l.size);
    if (!load) return;
    const toOffset = load.offset - load.address;
    const next = entries[i + 1]?.start ?? Number.POSITIVE_INFINITY;
    const end = Math.min(next, entry.end);
    result.fdes++;
    entry.rows.forEach(({ address, cells }, k) => {
      const until = Math.min(entry.rows[k + 1]?.address ?? end, end);
      if (address >= until) return;
      result.rows++;
      const where = `${address.toString(16)} ${JSON.stringify(cells)}`;
      let index = findRow(dump, address + toOffset);
      const rule = ruleAt(index);
      const agreement = judge(rule, cells);
      if (agreement === undefined) {
        result.mismatches.push(`${where}: ${rule}`);
        return;
      }
      result.counts[agreement] = (result.counts[agreement] ?? 0) + 1;
      for (index++; (dump.offsets[index] ?? until + toOffset) < until + toOffset; index++) {
        if (ruleAt(index) === rule) continue;
        const from = dump.offsets[index]?.toString(16);
        result.mismatches.push(`${where}: ${rule}, but ${ruleAt(index)} from ${from}`);
        return;
      }
    });
    // A hole of 16 bytes or more has no rule, except for the code at the entry point.
    if (end === entry.end && next - end >= 16) {
      const after = ruleAt(findRow(dump, end + toOffset));
      if (after !== "none" && after !== "end") {
        result.mismatches.push(`hole at ${end.toString(16)}: ${after}`);
      }
    }
  });
  return result;
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [tool = "", ...files] = process.argv.slice(2);
  for (const file of files) {
    const { fdes, rows, counts, mismatches } = compareFile(tool, file);
    console.log(`${file}: ${fdes} FDEs, ${rows} rows: ${JSON.stringify(counts)}`);
    for (const text of mismatches.slice(0, 20)) console.log(`  ${text}`);
    if (mismatches.length > 0) process.exitCode = 1;
  }
}
