/** The files of a release, installed as their users would. */
import { execFileSync, spawn } from "node:child_process";
import { cpSync, globSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { OUT } from "../../../release/facts.ts";
import { Lacking } from "../../support/measure.ts";
import { root } from "../../support/polytop.ts";
import type { Installed } from "./checks.ts";
import type { System } from "./systems.ts";

/** The file of a release with such an end. */
export function artefact(pattern: string): string {
  const [name] = globSync(pattern, { cwd: OUT });
  if (name === undefined) throw new Lacking(`out/ holds no ${pattern}`);
  return join(OUT, name);
}

/** Unpacks the tar file, with what the system has for it, into a folder whose name has a space. */
export async function tarball(system: System, name = "*linux-x64.tar.gz"): Promise<Installed> {
  const file = artefact(name);
  system.put(file, "tmp");
  const packed = `/tmp/${file.split("/").at(-1)}`;
  const unpack = name.endsWith("xz") ? `xzcat '${packed}' | tar -x` : `tar -xzf '${packed}'`;
  await system.sh(`mkdir -p '/opt/a b' && cd '/opt/a b' && ${unpack} && rm '${packed}'`);
  return { system, command: ["/opt/a b/polytop/polytop"], way: "tarball" };
}

/** The tarball, started through a link in the PATH. */
export async function linked(system: System): Promise<Installed> {
  const installed = await tarball(system);
  mkdirSync(join(system.folder, "usr/local/bin"), { recursive: true });
  symlinkSync("/opt/a b/polytop/polytop", join(system.folder, "usr/local/bin/polytop"));
  return { ...installed, command: ["polytop"] };
}

/** Installs the package for Debian, with what it depends on if that is not there. */
export async function deb(system: System): Promise<Installed> {
  const file = artefact("*.deb");
  system.put(file, "tmp");
  await system.sh(`dpkg -i /tmp/${file.split("/").at(-1)} && rm /tmp/*.deb`);
  return { system, command: ["polytop"], way: "deb" };
}

/** Installs the package by this machine's rpm: the system has none, and Debian's database of packages does not fit it. */
export async function rpm(system: System): Promise<Installed> {
  execFileSync("rpm", ["--root", system.folder, "-i", "--nodeps", artefact("*.rpm")], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  return { system, command: ["polytop"], way: "rpm" };
}

interface ImageManifest {
  readonly manifests?: readonly { readonly digest: string }[];
  readonly config?: { readonly digest: string };
  readonly layers?: readonly { readonly digest: string }[];
}

/** Unpacks the image's layers; the command is its entry point. No daemon is asked. */
export async function image(system: System): Promise<Installed> {
  const archive = artefact("*-oci.tar");
  const folder = join(system.folder, "image");
  mkdirSync(folder);
  execFileSync("tar", ["-xf", archive, "-C", folder]);
  const blob = (digest = ""): string => join(folder, "blobs", digest.replace(":", "/"));
  if (!/"RepoTags":\["polytop:\d/.test(readFileSync(join(folder, "manifest.json"), "utf8")))
    throw new Error("docker load would find no polytop in it");
  const read = (path: string): ImageManifest =>
    JSON.parse(readFileSync(path, "utf8")) as ImageManifest;
  const manifest = read(blob(read(join(folder, "index.json")).manifests?.[0]?.digest));
  for (const { digest } of manifest.layers ?? []) {
    // GNU tar does not miss the end of an archive, two blocks of zeros; other programs do.
    const end = `gzip -dc "$1" | tail -c 1024 | cmp -n 1024 - /dev/zero`;
    execFileSync("sh", ["-c", end, "sh", blob(digest)]);
    execFileSync("tar", ["-xzf", blob(digest), "-C", system.folder]);
  }
  const { config } = JSON.parse(readFileSync(blob(manifest.config?.digest), "utf8")) as {
    readonly config: { readonly Entrypoint: readonly string[]; readonly Env: readonly string[] };
  };
  system.environment = config.Env.join(" ");
  return { system, command: config.Entrypoint, way: "container" };
}

/** Installs the npm packages with `npm install -g`, of a registry on the loopback address, on some Node. */
export async function npm(system: System, node = process.execPath): Promise<Installed> {
  const global = join(system.folder, "usr/local");
  mkdirSync(join(global, "lib/node_modules"), { recursive: true });
  mkdirSync(join(global, "bin"), { recursive: true });
  cpSync(node, join(global, "bin/node"));
  const [own = ""] = ["/usr/lib/node_modules/npm", "/usr/share/nodejs/npm"].filter(
    (it) => globSync(it).length > 0,
  );
  cpSync(own, join(global, "lib/node_modules/npm"), { recursive: true, dereference: true });
  symlinkSync("../lib/node_modules/npm/bin/npm-cli.js", join(global, "bin/npm"));
  const registry = spawn(process.execPath, [join(root, "test/tools/release/registry.ts"), OUT], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const port = await new Promise<string>((resolve, reject) => {
      registry.stdout.once("data", (data: Buffer) => resolve(data.toString().trim()));
      registry.once("error", reject);
      registry.once("exit", () => reject(new Error("the registry ended")));
    });
    await system.sh(
      `npm install -g polytop --registry http://127.0.0.1:${port}/ --no-audit --no-fund`,
    );
  } finally {
    registry.kill();
  }
  return { system, command: ["polytop"], way: "npm" };
}
