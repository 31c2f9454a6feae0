/** Waits for work of real servers are left out, and nothing else is. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Lacking, percent, type Row, ratio, type Section } from "../../support/measure.ts";
import { polytop } from "../../support/polytop.ts";
import { type FoldedStack, parseFolded } from "../../support/profile.ts";
import { SERVERS, type Server, type StartServer } from "../../support/servers.ts";

const SECONDS = 6;

/** The waits of a server's threads: all of them, and those that are shown. */
async function waitsOf({ pids }: Server): Promise<Record<"all" | "shown", FoldedStack[]>> {
  const folder = mkdtempSync(join(tmpdir(), "polytop-idle-"));
  const file = join(folder, "waits");
  const run = async (args: readonly string[]): Promise<string> => {
    const { status, stdout, stderr } = await polytop(args, { timeoutMs: 120_000 });
    if (status !== 0) throw new Error(stderr);
    return stdout;
  };
  try {
    await run(["record", "-o", file, "-e", "wait", "-n", String(SECONDS), "-p", pids.join()]);
    const all = parseFolded(await run(["replay", file, "--folded", "--idle"]));
    return { all, shown: parseFolded(await run(["replay", file, "--folded"])) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const timeOf = (stacks: readonly FoldedStack[]): number =>
  stacks.reduce((sum, { count }) => sum + count, 0);

async function rowsOf(startServer: StartServer): Promise<Row[]> {
  let server: Server | undefined;
  try {
    server = await startServer();
    const { name, own } = server;
    const { all, shown } = await waitsOf(server);
    const isOwn = ({ frames }: FoldedStack): boolean => frames.some((frame) => own?.test(frame));
    const ownAll = timeOf(all.filter(isOwn));
    const ownShown = timeOf(shown.filter(isOwn));
    const pool = timeOf(all) - ownAll;
    const poolShown = shown.filter((stack) => !isOwn(stack));
    if (process.env.POLYTOP_DEBUG) {
      for (const { frames, count } of poolShown) console.error("shown:", count, frames.join(";"));
      const isShown = new Set(shown.map(({ frames }) => frames.join(";")));
      for (const { frames, count } of all.filter(isOwn))
        if (!isShown.has(frames.join(";"))) console.error("hidden:", count, frames.join(";"));
    }
    return [
      ...(own
        ? [
            {
              what: `${name}: the application's own waits that are hidden`,
              bar: "0",
              figure: `${percent(ownAll - ownShown, ownAll)} of ${(ownAll / 1e9).toFixed(1)} s`,
              ok: ownAll > 0 && ownAll === ownShown,
            },
          ]
        : []),
      {
        what: `${name}: waits for work that are hidden, ${server.pids.length} processes`,
        bar: "≥ 95 %",
        figure: `${percent(pool - timeOf(poolShown), pool)} of ${(pool / 1e9).toFixed(1)} s`,
        ok: ratio(timeOf(poolShown), pool) <= 0.05,
      },
    ];
  } catch (error) {
    const figure = error instanceof Error ? error.message : String(error);
    if (error instanceof Lacking)
      return [{ what: "a server", bar: "", figure: `skipped: ${figure}` }];
    return [{ what: server?.name ?? "a server", bar: "", figure, ok: false }];
  } finally {
    await server?.stop();
  }
}

async function servers(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const startServer of SERVERS) rows.push(...(await rowsOf(startServer)));
  return rows;
}

export const idle: readonly Section[] = [
  {
    name: "idle",
    about: "waits for work of real servers are left out, and nothing else",
    run: servers,
  },
];
