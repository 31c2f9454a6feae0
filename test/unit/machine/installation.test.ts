/** Where polytop finds its parts, and what it says of how it was installed. */
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { arch, platform, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { loadError } from "../../../src/addon/binding.ts";
import {
  checkNativeFiles,
  howToBeRoot,
  howToMend,
  readInstallation,
} from "../../../src/machine/installation.ts";
import { nativeFolder, whereNativeFiles } from "../../../src/machine/native-folder.ts";
import { EXIT_CANNOT } from "../../../src/tick/errors.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "polytop-installed-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(path: string, text: string): string {
  mkdirSync(join(folder, path, ".."), { recursive: true });
  writeFileSync(join(folder, path), text);
  return createHash("sha256").update(text).digest("hex");
}

/** An installation with one native file. */
function install(way: string, native: string): string {
  const sum = write(join(native, "polytop.bpf.o"), "object");
  write(join(native, "package.json"), "{}");
  const release = {
    way,
    commit: "0123456789abcdef",
    glibc: "2.28",
    files: { "polytop.bpf.o": sum },
  };
  write("dist/release.json", JSON.stringify(release));
  return join(folder, "dist/");
}

describe("the native part", () => {
  test("lies beside the bundle", () => {
    const bundle = install("tarball", "dist");
    expect(nativeFolder(bundle)).toBe(bundle);
  });

  test.each(["node_modules", "../node_modules", "dist/node_modules"])(
    "is a package of npm in %s",
    (place) => {
      folder = join(folder, "package");
      const native = join(place, "@polytop", `${platform()}-${arch()}`);
      const bundle = install("npm", native);
      expect(whereNativeFiles(bundle)).toBe(join(folder, native));
      expect(readInstallation(bundle)).toMatchObject({ way: "npm", damage: "" });
      folder = join(folder, "..");
    },
  );

  test("is missing: status 3, with what installs it", () => {
    expect(() => nativeFolder(join(folder, "dist"))).toThrow(
      expect.objectContaining({
        exitCode: EXIT_CANNOT,
        message: expect.stringMatching(/@polytop\/.* is missing\n.*--omit=optional/),
      }),
    );
  });
});

describe("the installation", () => {
  test("is a clone where no release says otherwise", () => {
    write("dist/polytop.bpf.o", "");
    const { way, folder: named, damage, release } = readInstallation(join(folder, "dist/"));
    expect({ way, named, damage, release }).toEqual({
      way: "clone",
      named: folder,
      damage: "",
      release: undefined,
    });
  });

  test("names a file that is not as it was released", () => {
    const bundle = install("deb", "dist");
    write("dist/polytop.bpf.o", "another");
    expect(readInstallation(bundle).damage).toMatch(/polytop\.bpf\.o is not as it was released/);
    rmSync(join(folder, "dist/polytop.bpf.o"));
    expect(readInstallation(bundle).damage).toBe("the native part is missing");
  });

  test("is refused before what is damaged is loaded, with what mends it", () => {
    const bundle = install("deb", "dist");
    expect(() => checkNativeFiles(bundle)).not.toThrow();
    write("dist/polytop.bpf.o", "another");
    expect(() => checkNativeFiles(bundle)).toThrow(
      expect.objectContaining({
        exitCode: EXIT_CANNOT,
        message: expect.stringMatching(/polytop\.bpf\.o is not as it was released\n.*--reinstall/),
      }),
    );
  });

  test("of a clone is refused where the addon's end is missing, wherever it was cut", () => {
    const whole = readFileSync(process.execPath).subarray(0, 100_000);
    const sections = whole.length - 3 * 64;
    whole.writeBigUInt64LE(BigInt(sections), 0x28);
    whole.writeUInt16LE(64, 0x3a);
    whole.writeUInt16LE(3, 0x3c);
    write("dist/polytop.bpf.o", "");
    const bundle = join(folder, "dist/");
    const addon = join(bundle, "polytop.node");
    writeFileSync(addon, whole);
    expect(() => checkNativeFiles(bundle)).not.toThrow();
    for (const length of [0, 10, 64, 5000, whole.length - 1]) {
      writeFileSync(addon, whole.subarray(0, length));
      expect(() => checkNativeFiles(bundle)).toThrow(/polytop\.node is cut off\n.*npm run build/);
      expect(readInstallation(bundle).damage).toMatch(/cut off/);
    }
  });

  test.each([
    ["npm", 'sudo "$(command -v polytop)"', /npm install -g/],
    ["tarball", "sudo /opt/polytop/polytop", /sha256sum -c/],
    ["deb", "sudo polytop", /apt-get install --reinstall/],
    ["rpm", "sudo polytop", /dnf reinstall/],
    ["container", "docker run --privileged --pid=host … (or the like of it)", /docker load/],
    ["clone", "sudo polytop", /npm run build/],
  ] as const)("as %s is mended in its own way", (way, root, mend) => {
    const installation = { way, folder: "/opt/polytop" };
    expect(howToBeRoot(installation)).toBe(root);
    expect(howToMend(installation)).toMatch(mend);
  });
});

test.each([
  ["/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by …)", /too old/],
  ["polytop.node: failed to map segment from shared object", /noexec/],
  ["Error relocating polytop.node: unsupported relocation type", /lacks glibc/],
  ["libgcc_s.so.1: cannot open shared object file: No such file or directory", /lacks glibc/],
  ["polytop.node: file too short", /damaged/],
  ["polytop.node: invalid ELF header", /damaged/],
  ["something new", /it does not load \(something new\)/],
])("an addon that does not load: %s", (said, words) => {
  const { message, exitCode } = loadError(new Error(said));
  expect(message).toMatch(words);
  expect(message.split("\n")).toHaveLength(2);
  expect(exitCode).toBe(EXIT_CANNOT);
});
