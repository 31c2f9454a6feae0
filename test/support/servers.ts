/** Starts real servers, with clients that make some of their threads wait for more than work. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { publish } from "./dotnet.ts";
import { exclusively } from "./exclusive.ts";
import { family } from "./family.ts";
import { Lacking } from "./measure.ts";
import { root } from "./polytop.ts";
import { type Running, sleep, start } from "./profile.ts";

const sources = `${root}test/workloads/servers/`;
const POSTGRES = "/usr/lib/postgresql/15/bin/";
const START_SECONDS = 30;

/** A server that runs, with everything that belongs to it. */
export interface Server {
  readonly name: string;
  /** Its processes. */
  readonly pids: readonly number[];
  /** Stacks with one of these functions wait for what the application asked for; all others for work. */
  readonly own?: RegExp;
  stop(): Promise<void>;
}

/** How a server is started; throws Lacking where it is not installed. */
export type StartServer = () => Promise<Server>;

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" ? (address?.port ?? 0) : 0;
      server.close(() => resolve(port));
    });
  });

function needs(path: string, what: string): string {
  if (!existsSync(path)) throw new Lacking(`${what} is not installed`);
  return path;
}

/** Waits until an answer comes. */
async function answers(url: string): Promise<void> {
  for (let tries = 0; tries < START_SECONDS * 5; tries++) {
    try {
      await (await fetch(url)).text();
      return;
    } catch {
      await sleep(0.2);
    }
  }
  throw new Error(`no answer from ${url}`);
}

/** Asks for what is answered late or never. */
function ask(urls: readonly string[]): AbortController {
  const calls = new AbortController();
  for (const url of urls) fetch(url, { signal: calls.signal }).catch(() => {});
  return calls;
}

/** A web server with slow answers. */
async function web(
  name: string,
  make: (port: number) => Running,
  slow: readonly string[],
  own?: RegExp,
): Promise<Server> {
  const port = await freePort();
  const program = make(port);
  const url = `http://127.0.0.1:${port}`;
  try {
    await answers(url);
    const calls = ask(slow.map((path) => url + path));
    await sleep(2);
    return {
      name,
      pids: family(program.pid),
      ...(own ? { own } : {}),
      stop: () => {
        calls.abort();
        return program.stop();
      },
    };
  } catch (error) {
    await program.stop();
    throw error;
  }
}

const nginx: StartServer = async () => {
  const command = needs("/usr/sbin/nginx", "nginx");
  const folder = mkdtempSync(join(tmpdir(), "polytop-nginx-"));
  chmodSync(folder, 0o755);
  const server = await web(
    "nginx",
    (port) => {
      const text = readFileSync(`${sources}nginx.conf`, "utf8").replace("@PORT@", String(port));
      writeFileSync(join(folder, "nginx.conf"), text);
      const options = ["-p", folder, "-c", "nginx.conf", "-g", "daemon off;"];
      return start(command, options);
    },
    [],
  );
  return {
    ...server,
    stop: async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};

const starman: StartServer = async () => {
  const command = needs("/usr/bin/starman", "starman");
  const make = (port: number): Running =>
    start(command, [
      "--workers",
      "6",
      "--listen",
      `127.0.0.1:${port}`,
      `${sources}application.psgi`,
    ]);
  return web("Starman", make, ["/slow", "/slow", "/pipe", "/pipe"], /^Application::/);
};

const node: StartServer = async () => {
  const command = needs("/usr/bin/node", "node");
  const make = (port: number): Running => start(command, [`${sources}server.cjs`, String(port)]);
  const own = /FutexEmulation|SyncProcessRunner|^(clock_)?nanosleep$/;
  return web("Node", make, [], own);
};

/** The .NET program of test/workloads/servers, built unless it is there. */
export const dotnetServer = (): string => exclusively("dotnet-server", publishedServer);

function publishedServer(): string {
  const program = `${root}build/workloads/dotnet-server/server`;
  const isNew = (file: string): boolean =>
    !existsSync(program) || statSync(file).mtimeMs > statSync(program).mtimeMs;
  const files = ["Program.cs", "server.csproj"].map((name) => `${sources}dotnet/${name}`);
  if (files.some(isNew))
    publish(`${sources}dotnet/`, "dotnet-server", ["--self-contained", "false"]);
  return program;
}

const kestrel: StartServer = async () => {
  const command = dotnetServer();
  const make = (port: number): Running => start(command, ["serve", String(port)]);
  const slow = ["/sleep", "/lock", "/lock", "/semaphore", "/semaphore", "/sync", "/sync"];
  return web("Kestrel", make, slow, /^Server\./);
};

const postgres: StartServer = async () => {
  needs(`${POSTGRES}initdb`, "PostgreSQL 15");
  const folder = mkdtempSync(join(tmpdir(), "polytop-postgres-"));
  chmodSync(folder, 0o755);
  const data = join(folder, "data");
  mkdirSync(data);
  const as = ["-u", "postgres", "--"];
  execFileSync("chown", ["-R", "postgres", folder]);
  execFileSync("runuser", [...as, `${POSTGRES}initdb`, "-A", "trust", "-N", "-D", data], {
    stdio: "ignore",
  });
  const options = ["-D", data, "-k", folder, "-h", "", "-c", "max_parallel_workers=2"];
  const server = start("runuser", [...as, `${POSTGRES}postgres`, ...options]);
  // A client that says nothing more keeps its connection.
  const client = (text: string): Running =>
    start("sh", [
      "-c",
      `(echo "${text}"; sleep 1000) | ${POSTGRES}psql -h ${folder} -U postgres postgres`,
    ]);
  const clients: Running[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all([...clients, server].map((program) => program.stop()));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    for (let tries = 0; !existsSync(join(folder, ".s.PGSQL.5432")); tries++) {
      if (tries > START_SECONDS * 5) throw new Error("PostgreSQL does not start");
      await sleep(0.2);
    }
    clients.push(client("create table held (); begin; lock table held;"));
    await sleep(2);
    const texts = ["select 1;", "select 2;", "lock table held;", "select pg_sleep(1000);"];
    clients.push(
      ...texts.map((text) => client(text === "lock table held;" ? `begin; ${text}` : text)),
    );
    await sleep(2);
    return {
      name: "PostgreSQL",
      pids: family(server.pid).filter((pid) => pid !== server.pid),
      own: /^(pg_sleep|ProcSleep)$/,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
};

export const SERVERS: readonly StartServer[] = [nginx, postgres, node, starman, kestrel];
