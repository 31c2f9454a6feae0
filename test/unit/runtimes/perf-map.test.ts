import { execFileSync, spawn } from "node:child_process";
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir, uptime } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { atOnce } from "../../../src/machine/steps.ts";
import { CodeMap } from "../../../src/runtimes/jit/code-map.ts";
import { PerfMaps } from "../../../src/runtimes/jit/perf-map.ts";

const proc = mkdtempSync(join(tmpdir(), "perf-map-"));
afterAll(() => rmSync(proc, { recursive: true, force: true }));

const uid = process.geteuid?.() ?? 0;
let lastPid = 100;

/** A process of a made-up /proc, whose own pid is 7. */
function makeProcess(map?: string, pid = ++lastPid): { pid: number; folder: string; file: string } {
  const folder = join(proc, `${pid}`, "root", "tmp");
  mkdirSync(folder, { recursive: true });
  const status = `Name:\tnode\nUid:\t1\t${uid}\t1\t1\nNSpid:\t${pid}\t7\n`;
  writeFileSync(join(proc, `${pid}`, "status"), status);
  const file = join(folder, "perf-7.map");
  if (map !== undefined) writeFileSync(file, map);
  return { pid, folder, file };
}

/** Says when a process was started, in seconds since boot, and where the code of its program begins. */
function setStart(pid: number, seconds: number, code = 0): void {
  const fields = ["S", ...Array(18).fill("0"), String(Math.round(seconds * 100)), 0, 0, 0, code, 0];
  writeFileSync(join(proc, `${pid}`, "stat"), `${pid} (a) b) ${fields.join(" ")} 0\n`);
}

let time = 0;

const makeMaps = (): PerfMaps => new PerfMaps({ proc, now: () => time });

/** Reads on in the map of a process, longer than a refresh after the last time. */
function readNext(maps: PerfMaps, pid: number): void {
  time += 1001;
  atOnce(maps.reading([pid]));
}

function nameAt(maps: PerfMaps, pid: number, address: bigint): string {
  readNext(maps, pid);
  const found = maps.find(pid, address);
  return found.whyUnnamed === undefined ? found.name : `? ${found.whyUnnamed}`;
}

describe("a map", () => {
  test("names addresses, of the pid that the process knows itself by", () => {
    const { pid } = makeProcess("1000 100 first one\n2000 10 second\n0x3000 0x10 with prefix\n");
    const maps = makeMaps();
    expect(nameAt(maps, pid, 0x1000n)).toBe("first one");
    expect(nameAt(maps, pid, 0x10ffn)).toBe("first one");
    expect(nameAt(maps, pid, 0x1100n)).toMatch(/^\? .*has not put into/);
    expect(nameAt(maps, pid, 0x200fn)).toBe("second");
    expect(nameAt(maps, pid, 0x3001n)).toBe("with prefix");
    expect(nameAt(maps, pid, 0xffn)).toMatch(/^\?/);
    expect(nameAt(maps, pid, 0xffff_ffff_ffff_ffffn)).toMatch(/^\?/);
  });

  test("is read on as it grows, half lines when they are whole", () => {
    const { pid, file } = makeProcess("1000 100 one\n2000 100 tw");
    const maps = makeMaps();
    expect(nameAt(maps, pid, 0x1000n)).toBe("one");
    expect(nameAt(maps, pid, 0x2000n)).toMatch(/^\?/);
    appendFileSync(file, "o\n1000 80 again\n");
    expect(nameAt(maps, pid, 0x2000n)).toBe("two");
    expect(nameAt(maps, pid, 0x1000n)).toBe("again");
    expect(nameAt(maps, pid, 0x1090n)).toBe("one");
  });

  test("is read once in a refresh of a tenth of a second", () => {
    const { pid, file } = makeProcess("1000 100 one\n");
    const maps = makeMaps();
    expect(nameAt(maps, pid, 0x1000n)).toBe("one");
    appendFileSync(file, "2000 100 two\n");
    time += 80;
    atOnce(maps.reading([pid]));
    expect(maps.find(pid, 0x2000n)).toHaveProperty("whyUnnamed");
    // One may be a little shorter than that before it.
    time += 19;
    atOnce(maps.reading([pid]));
    expect(maps.find(pid, 0x2000n)).toEqual({ name: "two" });
  });

  test("is read anew when it is another file, was cut, or was written anew", () => {
    const { pid, file } = makeProcess("1000 100 one\n2000 100 two\n");
    const maps = makeMaps();
    expect(nameAt(maps, pid, 0x2000n)).toBe("two");
    writeFileSync(`${file}.new`, "1000 100 other file\n2000 100 two\n3000 1 more\n");
    renameSync(`${file}.new`, file);
    expect(nameAt(maps, pid, 0x1000n)).toBe("other file");
    truncateSync(file, 0);
    expect(nameAt(maps, pid, 0x1000n)).toMatch(/^\?/);
    appendFileSync(file, "1000 100 after\n");
    expect(nameAt(maps, pid, 0x1000n)).toBe("after");
    writeFileSync(file, "4000 100 longer than before\n5000 100 and more of it\n");
    expect(nameAt(maps, pid, 0x1000n)).toMatch(/^\?/);
    expect(nameAt(maps, pid, 0x5000n)).toBe("and more of it");
  });

  test("keeps its names when the process goes, until another one has its pid", () => {
    const { pid, file } = makeProcess("1000 100 one\n2000 100 two\n");
    setStart(pid, 10);
    const maps = makeMaps();
    expect(nameAt(maps, pid, 0x1000n)).toBe("one");
    rmSync(join(proc, `${pid}`, "status"));
    expect(nameAt(maps, pid, 0x1000n)).toBe("one");
    expect(nameAt(maps, pid, 0x9000n)).toMatch(/process that is gone/);
    makeProcess(undefined, pid);
    setStart(pid, 20);
    rmSync(file);
    expect(nameAt(maps, pid, 0x1000n)).toMatch(/writes no/);
  });

  test("says which names changed: asked for too early, given to other code, unreadable", () => {
    const { pid, file } = makeProcess("1000 100 one\n2000 100 two\n");
    const maps = makeMaps();
    expect(nameAt(maps, pid, 0x1000n)).toBe("one");
    expect(nameAt(maps, pid, 0x3000n)).toMatch(/^\?/);
    maps.takeChanges(pid);
    const changed = (): number[] => {
      readNext(maps, pid);
      const changes = maps.takeChanges(pid);
      return [0x1000, 0x1080, 0x2000, 0x3000].filter((address) => changes?.(address));
    };
    expect(changed()).toEqual([]);
    appendFileSync(file, "3000 100 three\n1080 10 other\n");
    expect(changed()).toEqual([0x1080, 0x3000]);
    expect(nameAt(maps, pid, 0x1080n)).toBe("other");
    expect(nameAt(maps, pid, 0x1000n)).toBe("one");
    // It is asked for in between: the change is told all the same.
    appendFileSync(file, "2000 100 again\n");
    expect(nameAt(maps, pid, 0x2000n)).toBe("again");
    expect(changed()).toEqual([0x2000]);
    expect(changed()).toEqual([]);
    rmSync(file);
    expect(changed()).toHaveLength(4);
    expect(nameAt(maps, pid, 0x1000n)).toMatch(/writes no/);
  });

  test("is read anew when it was written over and has its length", () => {
    const { pid, file } = makeProcess(`1000 100 one\n${"2000 100 two\n".repeat(9)}`);
    const maps = makeMaps();
    expect(nameAt(maps, pid, 0x1000n)).toBe("one");
    writeFileSync(file, `1000 100 six\n${"2000 100 two\n".repeat(9)}`);
    utimesSync(file, Date.now() / 1000, Date.now() / 1000 + 1);
    expect(nameAt(maps, pid, 0x1000n)).toBe("six");
  });

  test("of the program before an exec names nothing, what the next one appends does", () => {
    const { pid, file } = makeProcess("1000 100 one\n2000 100 two\n");
    const start = uptime() - 60;
    setStart(pid, start, 0x1000);
    const maps = makeMaps();
    expect(nameAt(maps, pid, 0x1000n)).toBe("one");
    setStart(pid, start, 0x2000);
    expect(nameAt(maps, pid, 0x1000n)).toMatch(/has not put into/);
    appendFileSync(file, "1000 100 next\n");
    expect(nameAt(maps, pid, 0x1000n)).toBe("next");
    expect(nameAt(maps, pid, 0x2000n)).toMatch(/has not put into/);
    writeFileSync(file, "2000 100 anew\n");
    expect(nameAt(maps, pid, 0x2000n)).toBe("anew");
  });

  test("that is followed from its beginning may grow beyond the largest that is read at once", () => {
    const { pid, file } = makeProcess("1000 100 one\n");
    const maps = makeMaps();
    const line = `1000 100 ${"x".repeat(4000)}\n`;
    for (let turn = 0; turn < 7; turn++) {
      appendFileSync(file, line.repeat(1500));
      appendFileSync(file, `1000 100 turn ${turn}\n`);
      expect(nameAt(maps, pid, 0x1000n)).toBe(`turn ${turn}`);
    }
    expect(maps.memoryBytes).toBeLessThan(32 << 20);
    expect(nameAt(makeMaps(), pid, 0x1000n)).toMatch(/larger than 32 MB/);
  });

  test("has no name to give while the newest of its lines are not read", () => {
    const line = `1000 100 ${"x".repeat(4000)}\n`;
    const { pid } = makeProcess(`${line.repeat(3000)}1000 100 last\n`);
    const maps = makeMaps();
    expect(nameAt(maps, pid, 0x1000n)).toMatch(/still being read/);
    expect(nameAt(maps, pid, 0x1000n)).toBe("last");
  });

  test("blanks and tabs before and between the words of a line", () => {
    const maps = makeMaps();
    const { pid } = makeProcess(
      "  1000 10 first\n\t2000\t10\t second one\n3000   10 \n\t\n 4000\n",
    );
    expect(nameAt(maps, pid, 0x1008n)).toBe("first");
    expect(nameAt(maps, pid, 0x2008n)).toBe("second one");
    expect(nameAt(maps, pid, 0x3008n)).toMatch(/^\? /);
  });

  test("names are cleaned, lines that are none are left out", () => {
    const { pid } = makeProcess(
      "\n \n1000\n1000 10\n1000 10 \nxyz 10 no\n1000 0 empty\n-1 10 no\n2000 10 evil\u001b[2J\n" +
        "ffffffffffffffff 10 too high\n3000 fffffffff too long\n",
    );
    const maps = makeMaps();
    expect(nameAt(maps, pid, 0x1000n)).toMatch(/^\?/);
    expect(nameAt(maps, pid, 0x2001n)).toBe("evil\\x1b[2J");
    expect(nameAt(maps, pid, 0x3000n)).toMatch(/^\?/);
  });
});

describe("refused, with the reason:", () => {
  test("no file", () => {
    const said = nameAt(makeMaps(), makeProcess().pid, 1n);
    // It may be a program that was packed, too.
    expect(said).toMatch(
      /generated or unpacked by its process, which writes no \/tmp\/perf-PID.map/,
    );
  });

  test("a link, wherever it points", () => {
    const other = makeProcess("1000 100 secret\n");
    const linked = makeProcess();
    symlinkSync(other.file, linked.file);
    expect(nameAt(makeMaps(), linked.pid, 0x1000n)).toMatch(/not a regular file/);
  });

  test("a /tmp that is a link", () => {
    const other = makeProcess("1000 100 secret\n");
    const linked = makeProcess();
    rmSync(linked.folder, { recursive: true });
    symlinkSync(other.folder, linked.folder);
    expect(nameAt(makeMaps(), linked.pid, 0x1000n)).toMatch(/is a link/);
  });

  test("a FIFO, without waiting for its writer", () => {
    const { pid, file } = makeProcess();
    execFileSync("mkfifo", [file]);
    expect(nameAt(makeMaps(), pid, 0x1000n)).toMatch(/not a regular file/);
  });

  test("a folder", () => {
    const { pid, file } = makeProcess();
    mkdirSync(file);
    expect(nameAt(makeMaps(), pid, 0x1000n)).toMatch(/not a regular file/);
  });

  test("a file that is too large", () => {
    const { pid, file } = makeProcess("1000 100 one\n");
    truncateSync(file, 33 * 1024 * 1024);
    expect(nameAt(makeMaps(), pid, 0x1000n)).toMatch(/larger than 32 MB/);
  });

  test.runIf(uid === 0)("a file of another user; root's are taken", () => {
    const { pid, file } = makeProcess("1000 100 one\n");
    chownSync(file, 12345, 0);
    expect(nameAt(makeMaps(), pid, 0x1000n)).toMatch(
      /belongs to user 12345, the process to user 0/,
    );
    const status = join(proc, `${pid}`, "status");
    writeFileSync(status, readFileSync(status, "latin1").replace("\t0\t", "\t12345\t"));
    expect(nameAt(makeMaps(), pid, 0x1000n)).toBe("one");
    chownSync(file, 0, 0);
    expect(nameAt(makeMaps(), pid, 0x1000n)).toBe("one");
  });

  test("a file that is older than the process", () => {
    const { pid, file } = makeProcess("1000 100 one\n");
    setStart(pid, uptime() - 60);
    expect(nameAt(makeMaps(), pid, 0x1000n)).toBe("one");
    utimesSync(file, Date.now() / 1000, Date.now() / 1000 - 120);
    expect(nameAt(makeMaps(), pid, 0x1000n)).toMatch(/left by an earlier process/);
  });

  test("a file of a time that has not come, unless its process has it open", () => {
    const { pid, file } = makeProcess("1000 100 one\n");
    const openInProcess = join(proc, `${pid}`, "fd");
    const hour = 3600;
    for (const written of [hour, -hour]) {
      setStart(pid, uptime() - 60);
      utimesSync(file, Date.now() / 1000, Date.now() / 1000 + written);
      expect(nameAt(makeMaps(), pid, 0x1000n)).toMatch(/clock was ahead|left by an earlier/);
      mkdirSync(openInProcess);
      symlinkSync("/tmp/perf-8.map", join(openInProcess, "3"));
      expect(nameAt(makeMaps(), pid, 0x1000n)).toMatch(/clock was ahead|left by an earlier/);
      symlinkSync("/tmp/perf-7.map", join(openInProcess, "4"));
      expect(nameAt(makeMaps(), pid, 0x1000n)).toBe("one");
      rmSync(openInProcess, { recursive: true });
    }
  });

  test("more entries than are kept", () => {
    const line = (_: unknown, at: number): string => `${(at + 1).toString(16)} 1 a\n`;
    const { pid } = makeProcess(Array.from({ length: 500_001 }, line).join(""));
    expect(nameAt(makeMaps(), pid, 1n)).toMatch(/more entries than are kept/);
  });

  test("a process without a pid of its own", () => {
    const { pid } = makeProcess("1000 100 one\n");
    writeFileSync(join(proc, `${pid}`, "status"), `Uid:\t${uid}\t${uid}\n`);
    expect(nameAt(makeMaps(), pid, 0x1000n)).toMatch(/does not say its pid/);
  });
});

test("whatever ranges come, in whatever parts: the last one that holds an address names it", () => {
  const range = fc.record({ start: fc.nat(300), size: fc.integer({ min: 1, max: 80 }) });
  fc.assert(
    fc.property(fc.array(fc.array(range, { maxLength: 12 }), { maxLength: 6 }), (parts) => {
      const map = new CodeMap();
      const last = new Map<number, string>();
      let count = 0;
      for (const part of parts) {
        for (const { start, size } of part) {
          const line = Buffer.from(`${start.toString(16)} ${size.toString(16)} f${++count}`);
          map.addLine(line, 0, line.length);
          for (let at = start; at < start + size; at++) last.set(at, `f${count}`);
        }
        for (let at = 0; at < 400; at++) {
          if (map.find(at) !== last.get(at)) expect(map.find(at)).toBe(last.get(at));
        }
      }
    }),
  );
});

test("any bytes are survived, however they arrive", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 5 }), (parts) => {
      const { pid, file } = makeProcess("");
      const maps = makeMaps();
      for (const part of parts) {
        appendFileSync(file, part);
        expect(nameAt(maps, pid, 0x10n)).not.toBe("");
      }
    }),
    { numRuns: 50 },
  );
});

test("100,000 functions take less than 80 bytes each besides their names", () => {
  const lines: string[] = [];
  for (let i = 0; i < 100_000; i++)
    lines.push(`7f00${(i * 64).toString(16).padStart(8, "0")} 40 f${i}\n`);
  const { pid } = makeProcess(lines.join(""));
  const maps = makeMaps();
  expect(nameAt(maps, pid, 0x7f00_0000_0040n)).toBe("f1");
  expect(maps.memoryBytes).toBeLessThan(100_000 * 80);
});

test("Node's own map, through /proc", async () => {
  const program =
    "let s=0; setInterval(() => { for (let i=0;i<1e5;i++) s+=Math.sqrt(i); }, 1); console.log('on')";
  const child = spawn(process.execPath, ["--perf-basic-prof", "-e", program], { cwd: proc });
  const file = `/tmp/perf-${child.pid}.map`;
  try {
    await new Promise((resolve) => child.stdout.once("data", resolve));
    expect(existsSync(file)).toBe(true);
    const line = /^([0-9a-f]+) ([0-9a-f]+) (.*)$/m.exec(readFileSync(file, "latin1"));
    const address = BigInt(`0x${line?.[1]}`) + BigInt(`0x${line?.[2]}`) - 1n;
    const maps = new PerfMaps();
    atOnce(maps.reading([child.pid ?? 0]));
    expect(maps.find(child.pid ?? 0, address)).not.toHaveProperty("whyUnnamed");
  } finally {
    child.kill();
    rmSync(file, { force: true });
  }
});
