/** What goes wrong on other people's machines: status 3, and a line or two that say what it is and what to do. */
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OUT } from "../../../release/facts.ts";
import { artefact, deb, npm, tarball } from "./artefacts.ts";
import { busybox, type InsideOptions, ownDebian, type System } from "./systems.ts";

interface BadInput {
  readonly system: string;
  readonly artefact: string;
  run(): Promise<string>;
}

/** Runs it; throws unless it ended with a status and in at most two lines with such words. */
async function refused(
  system: System,
  command: readonly string[],
  words: RegExp,
  options: InsideOptions = {},
): Promise<string> {
  const { status, stdout, stderr } = await system.run(command, options);
  const lines = stderr.trim().split("\n");
  if (status !== 3 || lines.length > 2 || !words.test(stderr) || stdout !== "")
    throw new Error(`ended with ${status}: ${stderr}${stdout}`);
  return lines[0] ?? "";
}

/** Does something in a fresh system, which is removed then. */
async function within(
  make: () => System,
  work: (system: System) => Promise<string>,
): Promise<string> {
  const system = make();
  try {
    return await work(system);
  } finally {
    system.remove();
  }
}

const ONCE = ["/opt/a b/polytop/polytop", "--once"];
const LIB = "opt/a b/polytop/lib";

/** Runs in spite of it: what it prints has rows. */
async function runs(
  system: System,
  command: readonly string[],
  options: InsideOptions,
): Promise<string> {
  const { status, stdout, stderr } = await system.run(command, options);
  if (status !== 0 || !/\d/.test(stdout)) throw new Error(`ended with ${status}: ${stderr}`);
  return "runs all the same";
}

/** What is done after the tarball was unpacked on a Debian that holds nothing else. */
const ofTarball = (work: (system: System) => Promise<string>): BadInput => ({
  system: "this Debian, minimal",
  artefact: "tar.gz",
  run: () =>
    within(ownDebian, async (system) => {
      await tarball(system);
      return work(system);
    }),
});

export const BAD_INPUT: Readonly<Record<string, BadInput>> = {
  "musl, no C library": {
    system: "busybox, musl",
    artefact: "tar.gz",
    run: () =>
      within(
        () => busybox("musl"),
        async (system) => {
          await tarball(system);
          await system.sh(`rm -r '/${LIB}/glibc'`);
          return refused(system, ONCE, /needs .*glibc 2\.28.*musl/);
        },
      ),
  },
  "another processor": ofTarball(async (system) => {
    // The head of a program for arm64 (e_machine 183).
    const head = Buffer.alloc(64);
    head.write("\x7fELF\x02\x01\x01", "latin1");
    head.writeUInt16LE(2, 16);
    head.writeUInt16LE(183, 18);
    writeFileSync(join(system.folder, LIB, "node"), head);
    return refused(system, ONCE, /needs Linux on x86-64/);
  }),
  "mounted noexec": ofTarball(async (system) => {
    const before =
      'mount --bind "$root/opt" "$root/opt" && mount -o remount,bind,noexec "$root/opt"';
    return refused(system, ["/bin/sh", ...ONCE], /noexec/, { before });
  }),
  "mounted read-only": ofTarball(async (system) => {
    const before =
      'mount --bind "$root" "$root" && mount -o remount,bind,ro "$root" && for it in proc sys dev; do mount --rbind "/$it" "$root/$it"; done';
    return runs(system, ONCE, { before });
  }),
  "/tmp, home and cache full": ofTarball(async (system) => {
    const before =
      'for it in tmp root var/cache; do mount -t tmpfs -o size=4k full "$root/$it"; dd if=/dev/zero of="$root/$it/all" 2>/dev/null || :; done';
    return runs(system, ONCE, { before });
  }),
  "no BTF": ofTarball(async (system) => {
    const before = 'mount -t tmpfs none "$root/sys/kernel/btf"';
    return refused(system, ONCE, /btf: .*missing/, { before });
  }),
  "kernel before 5.10": ofTarball(async (system) => {
    const before =
      'echo 4.19.0 >"$root/tmp/old" && mount --bind "$root/tmp/old" "$root/proc/sys/kernel/osrelease"';
    return refused(system, ONCE, /kernel: .*4\.19\.0, needs 5\.10/, { before });
  }),
  "no root": ofTarball(async (system) => {
    const command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", ...ONCE];
    return refused(system, command, /CAP_BPF.*\n.*sudo .*polytop/);
  }),
  "a file is cut off": ofTarball(async (system) => {
    truncateSync(join(system.folder, LIB, "polytop.node"), 5000);
    await refused(system, ONCE, /polytop\.node is cut off\n.*download it again/);
    const { stdout, status } = await system.run([ONCE[0] ?? "", "doctor"]);
    if (status !== 3 || !/fail +installation .*polytop\.node is cut off/.test(stdout))
      throw new Error(stdout);
    return "the doctor names the file";
  }),
  "a bit of a file is wrong": ofTarball(async (system) => {
    for (const name of ["polytop.node", "polytop.bpf.o", "polytop-parser"]) {
      const path = join(system.folder, LIB, name);
      const bytes = readFileSync(path);
      const middle = bytes.length >> 1;
      bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle);
      writeFileSync(path, bytes);
      await refused(system, ONCE, new RegExp(`${name} is not as it was released\\n`));
      bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle);
      writeFileSync(path, bytes);
    }
    return "each is named";
  }),
  "a broken download": {
    system: "this machine",
    artefact: "tar.gz",
    run: async () => {
      const file = artefact("*linux-x64.tar.gz");
      const copy = join(OUT, "../build/release/broken.tar.gz");
      copyFileSync(file, copy);
      truncateSync(copy, 1_000_000);
      const check = `sed -n "s, polytop-.*linux-x64.tar.gz, $1,p" "$2" | sha256sum -c 2>&1 || :`;
      const said = execFileSync("sh", [
        "-c",
        check,
        "sh",
        copy,
        join(OUT, "SHA256SUMS"),
      ]).toString();
      if (!said.includes("FAILED")) throw new Error(said);
      return "sha256sum -c says FAILED";
    },
  },
  "Node 20 in the PATH": {
    system: "this Debian, minimal",
    artefact: "npm",
    run: () =>
      within(ownDebian, async (system) => {
        await npm(system);
        const node = "#!/bin/sh\necho v20.20.2\n";
        writeFileSync(join(system.folder, "usr/local/bin/node"), node, { mode: 0o755 });
        return refused(system, ["polytop", "--once"], /needs Node.js 22 or later, found v20/);
      }),
  },
  "without the optional package": {
    system: "this Debian, minimal",
    artefact: "npm",
    run: () =>
      within(ownDebian, async (system) => {
        await npm(system);
        await system.sh(
          "rm -r /usr/local/lib/node_modules/polytop/node_modules/@polytop || rm -r /usr/local/lib/node_modules/@polytop",
        );
        return refused(system, ["polytop", "--once"], /@polytop\/linux-x64 is missing/);
      }),
  },
  "NODE_OPTIONS of the user": {
    system: "this Debian, minimal",
    artefact: "deb",
    run: () =>
      within(ownDebian, async (system) => {
        await deb(system);
        return runs(system, ["polytop", "--once"], {
          environment: "NODE_OPTIONS=--require=/none NODE_PATH=/none",
        });
      }),
  },
};
