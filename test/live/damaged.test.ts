/** Programs whose ELF files are damaged or lie: counted reasons, no crash, no wrong name. */
import { chmodSync, copyFileSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ELF, noise, PT_GNU_EH_FRAME, section, segment } from "../support/elf.ts";
import { ENOUGH, sampleEnough, withFolder } from "../support/live.ts";
import { needsSampling } from "../support/polytop.ts";
import { during, sampleJson, start } from "../support/profile.ts";
import { plugin, workload } from "../support/workloads.ts";

const HUGE = 0x7fff_ffff_ffff_f000n;

/** Ways to damage a program that leave it running: what they touch is for others to read. */
const DAMAGES: Readonly<Record<string, (elf: Buffer) => void>> = {
  "eh-noise": (elf) => noise(elf, section(elf, ".eh_frame")),
  "hdr-noise": (elf) => noise(elf, section(elf, ".eh_frame_hdr")),
  "eh-zero": (elf) => {
    const { offset, size } = section(elf, ".eh_frame");
    elf.fill(0, offset, offset + size);
  },
  "eh-length": (elf) => {
    // The first entry claims to reach far behind the end.
    elf.writeUInt32LE(0x7fff_fff0, section(elf, ".eh_frame").offset);
  },
  "eh-pointer": (elf) => {
    // Every FDE's CIE pointer points to itself: no entry that it can belong to.
    const { offset, size } = section(elf, ".eh_frame");
    for (let at = offset, length = 0; at + 8 < offset + size; at += length + 4) {
      length = elf.readUInt32LE(at);
      if (length === 0) break;
      if (elf.readUInt32LE(at + 4) !== 0) elf.writeUInt32LE(0xffff_ffff, at + 4);
    }
  },
  "hdr-offset": (elf) => {
    const header = segment(elf, PT_GNU_EH_FRAME);
    elf.writeBigUInt64LE(HUGE, header + 8);
    elf.writeBigUInt64LE(HUGE, header + 32);
  },
  "sh-offset": (elf) => elf.writeBigUInt64LE(HUGE, ELF.shoff),
  "sh-count": (elf) => elf.writeUInt16LE(0xffff, ELF.shnum),
  "sh-entsize": (elf) => elf.writeUInt16LE(1, ELF.shentsize),
  "sym-offset": (elf) => elf.writeBigUInt64LE(HUGE, section(elf, ".symtab").header + 0x18),
  "sym-size": (elf) => elf.writeBigUInt64LE(HUGE, section(elf, ".symtab").header + 0x20),
  "sym-link": (elf) => elf.writeUInt32LE(0xffff, section(elf, ".symtab").header + 0x28),
  "sym-noise": (elf) => noise(elf, section(elf, ".symtab")),
  "str-noise": (elf) => noise(elf, section(elf, ".strtab")),
  "shstr-size": (elf) => elf.writeBigUInt64LE(HUGE, section(elf, ".shstrtab").header + 0x20),
};

/** What the functions of the file may be called: by their names, or by where they are. */
const MAY_APPEAR = /^(_start|main|sixty|thirty|ten)$|^\[|\+0x[0-9a-f]+$/;

test("damaged ELF files", { timeout: 120_000 }, async (context) => {
  needsSampling(context);
  await withFolder(async (folder) => {
    const paths = Object.entries(DAMAGES).map(([name, damage]) => {
      const elf = readFileSync(workload("split.c"));
      damage(elf);
      const path = join(folder, name);
      writeFileSync(path, elf);
      chmodSync(path, 0o755);
      return path;
    });
    // Cut off where the section headers were.
    const cut = join(folder, "cut");
    copyFileSync(workload("split.c"), cut);
    truncateSync(cut, Number(readFileSync(cut).readBigUInt64LE(ELF.shoff)));
    paths.push(cut);

    const programs = paths.map((path) => start(path));
    const stacks = await during(programs, (pids) =>
      sampleEnough(paths, { seconds: 6, frequency: 999, pids }),
    );
    // Names are what the file says, cleaned; where it says noise, they are noise.
    const mayAppear = (path: string): RegExp => (path.endsWith("str-noise") ? /./ : MAY_APPEAR);
    const seen = paths.map((path) => {
      const ours = stacks.of(path);
      // glibc's functions around main() are not what this is about.
      const names = [...ours.names].filter((name) => !/_\[k\]$|libc|^(__)?libc_start/.test(name));
      const wrong = names.filter((name) => !mayAppear(path).test(name));
      return { path: path.slice(folder.length + 1), enough: ours.samples >= ENOUGH, wrong };
    });
    expect(seen).toEqual(seen.map(({ path }) => ({ path, enough: true, wrong: [] })));
    // Damaged symbols do not hurt the unwinding, and the other way round.
    for (const name of ["sh-offset", "sym-offset", "sym-noise", "str-noise", "cut"]) {
      expect([name, stacks.of(name).complete > 0.98]).toEqual([name, true]);
    }
    for (const name of ["eh-noise", "eh-zero", "hdr-noise"]) {
      expect([name, [...stacks.of(name).names]]).toEqual([name, expect.arrayContaining(["sixty"])]);
    }
    const reasons = stacks.of("eh-zero").all.map(({ frames }) => frames[0]);
    expect(reasons.every((reason) => /^(\[native: .*\]|_start)$/.test(reason ?? ""))).toBe(true);
  });
});

test("a library that is cut off while it is sampled", async (context) => {
  needsSampling(context);
  await withFolder(async (folder) => {
    const [first, second] = ["in_first", "in_second"].map((name) => {
      const path = join(folder, `${name}.so`);
      copyFileSync(plugin(name), path);
      return path;
    });
    const program = start(workload("plugins.c", { as: "cut-library" }), [
      first ?? "",
      second ?? "",
    ]);
    const sums = await during([program], ([pid = -1]) =>
      sampleJson({
        seconds: 3,
        delay: 0.5,
        frequency: 499,
        pids: [pid],
        onLine: (line) => {
          // The process ends by it, of SIGBUS; its reader must not.
          if (line === 2) truncateSync(first ?? "", 0);
        },
      }),
    );
    expect(sums.snapshots).toHaveLength(6);
    expect([...sums.self.keys()]).toEqual(expect.arrayContaining(["in_first", "in_second"]));
  });
});
