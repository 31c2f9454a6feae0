/** Bundles programs of tests as the program itself is bundled. */
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import packageJson from "../../package.json" with { type: "json" };

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Builds test/screen/fixture.ts for production and says where it is. */
export const bundleFixture = (): Promise<string> => bundle("test/screen/fixture");

/** Builds a program for production and says where it is; `entry`: its path without `.ts`. */
export async function bundle(entry: string): Promise<string> {
  const outdir = `${root}build/test/screen`;
  await build({
    entryPoints: [`${root}${entry}.ts`],
    outdir,
    bundle: true,
    // Ink's inspector, for development only, stays a part of its own that is never loaded.
    splitting: true,
    platform: "node",
    format: "esm",
    target: `node${packageJson.engines.node.replace(">=", "")}`,
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"', fetch: "undefined" },
    external: ["react-devtools-core"],
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
    logLevel: "error",
  });
  return `${outdir}/${basename(entry)}.js`;
}
