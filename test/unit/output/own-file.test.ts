/** What others lay ready where polytop writes: it is refused, or nothing of it is left. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Exports } from "../../../src/output/exports.ts";
import type { ExportPaths } from "../../../src/output/formats.ts";
import { RecordingWriter } from "../../../src/recording/writer.ts";
import { example, HEADER, inFolder, readRecording } from "../../support/recordings.ts";

const NOBODY = 65534;
const ALL = { filter: undefined, kernel: true, nativeFrames: true };
const isRoot = process.geteuid?.() === 0;

function record(path: string): void {
  const writer = new RecordingWriter(path, HEADER, { replace: true });
  for (const tick of example(2)) writer.add(tick);
  writer.end();
}

const WRITERS = {
  "a recording": async (path: string) => record(path),
  "an export for speedscope": (path: string) => writeExport({ speedscope: path }),
  "an export for pprof": (path: string) => writeExport({ pprof: path }),
};

async function writeExport(paths: ExportPaths): Promise<void> {
  const exports = await Exports.open(paths, ALL);
  for (const tick of example(2)) exports.add(tick);
  exports.write();
}

/** Like /tmp. */
const inSharedFolder = (work: (folder: string) => Promise<void>): Promise<void> =>
  inFolder((folder) => {
    chmodSync(folder, 0o1777);
    return work(folder);
  });

describe.each(Object.entries(WRITERS))("%s", (_, write) => {
  test("is its owner's alone, in a file of its own", () =>
    inSharedFolder(async (folder) => {
      const path = join(folder, "out");
      writeFileSync(path, "");
      chmodSync(path, 0o666);
      const before = statSync(path).ino;
      await write(path);
      expect(statSync(path).mode & 0o777).toBe(0o600);
      expect(statSync(path).ino).not.toBe(before);
      expect(readdirSync(folder)).toEqual(["out"]);
    }));

  test.runIf(isRoot)("is not put into what another user laid ready", () =>
    inSharedFolder(async (folder) => {
      const [file, link, pipe] = ["file", "link", "pipe"].map((name) => join(folder, name));
      writeFileSync(file ?? "", "");
      const secret = join(folder, "secret");
      mkdirSync(secret, { mode: 0o700 });
      writeFileSync(join(secret, "precious"), "");
      symlinkSync(join(secret, "precious"), link ?? "");
      execFileSync("mkfifo", [pipe ?? ""]);
      for (const path of [file, link, pipe]) {
        execFileSync("chown", ["-h", String(NOBODY), path ?? ""]);
        await expect(write(path ?? "")).rejects.toThrow(`belongs to user ${NOBODY}`);
      }
      expect(readFileSync(join(secret, "precious"), "utf8")).toBe("");
      expect(lstatSync(link ?? "").isSymbolicLink()).toBe(true);
      expect(readdirSync(folder).sort()).toEqual(["file", "link", "pipe", "secret"]);
    }),
  );

  test.runIf(isRoot)("replaces a file of its user in a folder that is theirs alone", () =>
    inFolder(async (folder) => {
      chownSync(folder, NOBODY, -1);
      const path = join(folder, "out");
      writeFileSync(path, "");
      chownSync(path, NOBODY, -1);
      await write(path);
      expect(statSync(path).uid).toBe(0);
      expect(statSync(path).mode & 0o777).toBe(0o600);
    }),
  );

  test("follows a link of its own", () =>
    inFolder(async (folder) => {
      writeFileSync(join(folder, "there"), "");
      symlinkSync(join(folder, "there"), join(folder, "link"));
      await write(join(folder, "link"));
      expect(lstatSync(join(folder, "link")).isSymbolicLink()).toBe(true);
      expect(statSync(join(folder, "there")).size).toBeGreaterThan(0);
    }));
});

test("what the live view writes is a new file of its owner's alone, whatever lies there", () =>
  inSharedFolder(async (folder) => {
    const write = (path: string): void =>
      new RecordingWriter(path, HEADER, { replace: false }).end();
    writeFileSync(join(folder, "precious"), "");
    symlinkSync(join(folder, "precious"), join(folder, "link"));
    symlinkSync(join(folder, "nothing"), join(folder, "to-nothing"));
    for (const name of ["precious", "link", "to-nothing"])
      expect(() => write(join(folder, name))).toThrow("is there");
    expect(readdirSync(folder).sort()).toEqual(["link", "precious", "to-nothing"]);
    expect(statSync(join(folder, "precious")).size).toBe(0);
    write(join(folder, "new"));
    expect(statSync(join(folder, "new")).mode & 0o777).toBe(0o600);
  }));

test("what is recorded this way can be read", () => {
  inFolder((folder) => {
    record(join(folder, "a"));
    expect(readRecording(join(folder, "a")).ticks).toHaveLength(2);
  });
});
