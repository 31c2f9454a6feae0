/** The program: reads the command line, runs the command, and ends with its exit status. Each command is read when it runs. */
import { print, refuseDebuggers, stopOnErrors, warn } from "./commands/lifetime.ts";
import { compactRegularly, compileSparingly } from "./machine/engine.ts";
import { helpText, versionText } from "./options/option-table.ts";
import { parseOptions } from "./options/options.ts";
import { EXIT_FAILED } from "./tick/errors.ts";

/** Ends with what went wrong in a line or two. Errors that are not meant for users say so. */
function fail(error: unknown): never {
  const { message, stack, exitCode } = error as Error & { exitCode?: unknown };
  const isForUser = typeof exitCode === "number";
  const text = String(message ?? error);
  warn(isForUser || !stack ? text : `${text}\nPOLYTOP_DEBUG=1 shows where this happened`);
  if (process.env.POLYTOP_DEBUG === "1" && stack) process.stderr.write(`${stack}\n`);
  process.exit(isForUser ? exitCode : EXIT_FAILED);
}

async function main(): Promise<number> {
  const options = parseOptions(process.argv.slice(2));
  switch (options.command) {
    case "run":
      return (await import("./commands/run.ts")).run(options);
    case "record":
      return (await import("./commands/record.ts")).record(options);
    case "replay":
      return (await import("./commands/replay.ts")).replay(options);
    case "doctor":
      return (await import("./commands/doctor.ts")).doctor(options);
    case "list":
      return (await import("./commands/list.ts")).list(options);
    case "help":
      return print(helpText());
    case "version": {
      const { readRelease } = await import("./machine/installation.ts");
      return print(versionText(readRelease()));
    }
  }
}

refuseDebuggers();
compileSparingly();
compactRegularly();
process.on("uncaughtException", fail);
process.on("unhandledRejection", fail);
stopOnErrors(process.stdout);
// Nobody is left to be told.
process.stderr.on("error", () => {});
process.exit(await main().catch(fail));
