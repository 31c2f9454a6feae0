/** Recordings on the disk: what is overwritten, and what stays when something fails. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { recordingName, writeTicks } from "../../../src/output/recording.ts";
import { RecordingWriter } from "../../../src/recording/writer.ts";
import type { Tick } from "../../../src/tick/tick.ts";
import { example, HEADER, inFolder, readRecording } from "../../support/recordings.ts";

describe("the file that is written", () => {
  const record = (path: string, list: readonly Tick[], replace = true): void => {
    const writer = new RecordingWriter(path, HEADER, { replace });
    for (const tick of list) writer.add(tick);
    writer.end();
  };

  test("can be read by its owner only: names of processes and functions are nobody else's", () => {
    inFolder((folder) => {
      const path = join(folder, "a");
      record(path, example(1));
      expect(statSync(path).mode & 0o777).toBe(0o600);
    });
  });

  test("is not one that was there and is no recording", () => {
    inFolder((folder) => {
      const path = join(folder, "notes.txt");
      writeFileSync(path, "precious");
      expect(() => record(path, example(1))).toThrow("is there and is no recording");
      expect(readFileSync(path, "utf8")).toBe("precious");
      mkdirSync(join(folder, "d"));
      expect(() => record(join(folder, "d"), [])).toThrow(/is no recording|cannot write/);
      expect(() => record(join(folder, "x/y"), [])).toThrow("cannot write");
      expect(readdirSync(folder).sort()).toEqual(["d", "notes.txt"]);
    });
  });

  test("replaces an older recording once it holds something itself", () => {
    inFolder((folder) => {
      const path = join(folder, "a");
      record(path, example(2));
      const writer = new RecordingWriter(path, HEADER, { replace: true });
      for (const tick of example(3)) writer.add(tick);
      expect(readRecording(path).ticks).toHaveLength(2);
      for (const tick of example(3)) writer.add(tick);
      expect(readRecording(path).ticks).toHaveLength(4);
      writer.end();
      expect(readRecording(path).ticks).toHaveLength(6);
      expect(readdirSync(folder)).toEqual(["a"]);
      expect(() => record(path, example(1), false)).toThrow("is there");
    });
  });

  test("may be an empty one that is there, as mktemp makes it", () => {
    inFolder((folder) => {
      const path = join(folder, "a");
      writeFileSync(path, "");
      record(path, example(2));
      expect(readRecording(path).ticks).toHaveLength(2);
    });
  });

  test("says that the disk is full", () => {
    inFolder((folder) => {
      // Every write to it fails with ENOSPC.
      const path = join(folder, "full");
      symlinkSync("/dev/full", path);
      expect(() => record(path, example(9))).toThrow(`cannot write ${path}: the disk is full`);
    });
  });

  test("has a name that says where and when", () => {
    const now = new Date("2026-01-31T12:00:01.500Z");
    expect(recordingName("web-3", now)).toBe("polytop-web-3-20260131-120001.polytop");
    expect(recordingName("../../etc/x", now)).toBe("polytop-.._.._etc_x-20260131-120001.polytop");
  });

  test("of the key w is written whole, or not at all", async () => {
    const before = process.cwd();
    const folder = mkdtempSync(join(tmpdir(), "polytop-recording-"));
    process.chdir(folder);
    try {
      const now = new Date("2026-01-31T12:00:01Z");
      const name = await writeTicks(example(700), HEADER, undefined, now);
      expect(readRecording(name).ticks).toHaveLength(700);
      await expect(writeTicks(example(1), HEADER, undefined, now)).rejects.toThrow("is there");
      expect(readRecording(name).ticks).toHaveLength(700);
    } finally {
      process.chdir(before);
      rmSync(folder, { recursive: true });
    }
  });
});
