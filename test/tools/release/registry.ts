/**
 * A registry of npm on the loopback address, of the packages in a folder: prints its port and serves until it is
 * killed. Usage: node registry.ts FOLDER
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { argv } from "node:process";

const [, , folder = ""] = argv;

interface Manifest {
  readonly name: string;
  readonly version: string;
}

/** What a registry says of a package. */
function describe(file: string, base: string): readonly [name: string, text: string] {
  const bytes = readFileSync(join(folder, file));
  const text = execFileSync("tar", ["-xzOf", join(folder, file), "package/package.json"]);
  const manifest = JSON.parse(text.toString()) as Manifest;
  const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
  const dist = { tarball: `${base}/files/${file}`, integrity };
  const { name, version } = manifest;
  const about = {
    name,
    "dist-tags": { latest: version },
    versions: { [version]: { ...manifest, dist } },
  };
  return [name, JSON.stringify(about)];
}

const server = createServer((request, response) => {
  const { port } = server.address() as AddressInfo;
  const path = decodeURIComponent(request.url ?? "").slice(1);
  const files = globSync("*.tgz", { cwd: folder });
  const file = files.find((it) => path === `files/${it}`);
  if (file !== undefined) {
    response.end(readFileSync(join(folder, file)));
    return;
  }
  const about = new Map(files.map((it) => describe(it, `http://127.0.0.1:${port}`))).get(path);
  response.writeHead(about === undefined ? 404 : 200, { "content-type": "application/json" });
  response.end(about ?? "{}");
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
