/** The container's image, as an archive of the Open Container Initiative: no base, no shell. */
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../test/support/polytop.ts";
import { OUT, type ReleaseFacts, WORK } from "../facts.ts";
import { sh } from "../shell.ts";
import { chmodTree, TREE, writeRelease } from "../tree.ts";
import { SAME_BYTES } from "./tarball.ts";

/** What the launcher gives to Node: there is no shell that it could run in. */
function launcherFlags(): string[] {
  const launcher = readFileSync(join(root, "bin/polytop"), "utf8");
  const [, flags] = /^set -- (--.*) "\$lib\/cli\.js"/m.exec(launcher) ?? [];
  if (flags === undefined) throw new Error("bin/polytop gives Node no flags that can be read");
  return flags.split(" ");
}

/** Lays out the files; the C library is in its usual place. */
function layOut(folder: string, facts: ReleaseFacts): void {
  const lib = join(folder, "usr/lib/polytop");
  const system = join(folder, "lib/x86_64-linux-gnu");
  for (const it of [lib, system, join(folder, "lib64"), join(folder, "tmp")])
    mkdirSync(it, { recursive: true });
  cpSync(join(TREE, "lib"), lib, { recursive: true });
  cpSync(join(lib, "glibc"), system, { recursive: true });
  rmSync(join(lib, "glibc"), { recursive: true });
  renameSync(join(system, "ld-linux-x86-64.so.2"), join(folder, "lib64/ld-linux-x86-64.so.2"));
  cpSync(join(TREE, "licenses"), join(folder, "usr/share/doc/polytop/licenses"), {
    recursive: true,
  });
  cpSync(join(TREE, "LICENSE"), join(folder, "usr/share/doc/polytop/copyright"));
  writeRelease(lib, "container", facts);
  chmodTree(folder);
}

interface Descriptor {
  readonly digest: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * Names the image for who loads it: umoci writes the version alone, and Docker with a store of its own (20.10) reads
 * nothing of that, but manifest.json.
 */
function nameImage(folder: string, version: string): void {
  const read = (path: string): unknown => JSON.parse(readFileSync(join(folder, path), "utf8"));
  const write = (path: string, value: unknown): void =>
    writeFileSync(join(folder, path), JSON.stringify(value));
  const blob = ({ digest }: Descriptor): string => `blobs/${digest.replace(":", "/")}`;
  const index = read("index.json") as { readonly manifests: readonly [Descriptor] };
  const [image] = index.manifests;
  const name = { "io.containerd.image.name": `docker.io/library/polytop:${version}` };
  write("index.json", {
    ...index,
    manifests: [{ ...image, annotations: { ...image.annotations, ...name } }],
  });
  const { config, layers } = read(blob(image)) as {
    readonly config: Descriptor;
    readonly layers: readonly Descriptor[];
  };
  write("manifest.json", [
    { Config: blob(config), RepoTags: [`polytop:${version}`], Layers: layers.map(blob) },
  ]);
}

/** Writes it. */
export async function makeOci(facts: ReleaseFacts): Promise<void> {
  const { version, epoch } = facts;
  const folder = join(WORK, "oci");
  rmSync(folder, { recursive: true, force: true });
  layOut(join(folder, "root"), facts);
  const created = new Date(epoch * 1000).toISOString().replace(/\.\d+/, "");
  const entry = ["/usr/lib/polytop/node", ...launcherFlags(), "/usr/lib/polytop/cli.js"];
  const config = [
    ...[
      "--architecture",
      "amd64",
      "--os",
      "linux",
      "--created",
      created,
      "--history.created",
      created,
    ],
    ...entry.flatMap((word) => ["--config.entrypoint", word]),
    ...["NODE_ENV=production", "MALLOC_ARENA_MAX=2", "TERM=xterm-256color", "LANG=C.UTF-8"].flatMap(
      (it) => ["--config.env", it],
    ),
  ];
  const image = `${join(folder, "image")}:${version}`;
  const env = { SOURCE_DATE_EPOCH: String(epoch) };
  // Not `umoci insert`: the tar file that version 0.4.7 makes of a folder lacks its end.
  await sh(`tar ${SAME_BYTES} -C root -c .`, [], { cwd: folder, env, into: join(folder, "layer") });
  await sh('umoci init --layout image && umoci new --image "$1"', [image], { cwd: folder });
  await sh('umoci raw add-layer --image "$1" --history.created "$2" layer', [image, created], {
    cwd: folder,
  });
  await sh('image=$1; shift; umoci config --image "$image" "$@"', [image, ...config], {
    cwd: folder,
  });
  await sh("umoci gc --layout image", [], { cwd: folder });
  nameImage(join(folder, "image"), version);
  chmodTree(join(folder, "image"));
  await sh(`tar ${SAME_BYTES} -C image -c .`, [], {
    cwd: folder,
    env,
    into: join(OUT, `polytop-${version}-oci.tar`),
  });
  rmSync(folder, { recursive: true });
}
