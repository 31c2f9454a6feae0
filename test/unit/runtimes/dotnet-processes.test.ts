/** Processes of .NET that have ended are forgotten, and what they left never lends a name to who gets their pids. */
import { expect, test } from "vitest";
import type { SeenMethod } from "../../../src/addon/drained.ts";
import { dotnetReader, seenMethod } from "../../support/dotnet-reader.ts";
import { start } from "../../support/profile.ts";

const WORD = 0x10000n;

const seen = (pid: number, name: string, space = BigInt(pid)): SeenMethod =>
  seenMethod({ word: WORD, space, pid, name: Buffer.from(name) });

/** A reader, and what it is told of methods before the next drain. */
function reader() {
  const methods: SeenMethod[] = [];
  const names = dotnetReader({
    frameNumber: () => 77,
    takeMethods: () => methods.splice(0),
  });
  /** A drain behind the first sight of these; returns the frames that got another name. */
  const drain = (...met: readonly SeenMethod[]): string[] => {
    methods.push(...met);
    names.resolveSeen();
    return [...names.renamed()].map(([number, frame]) => `${number} ${frame.function.name}`);
  };
  return { names, drain };
}

const DRAINS = 6;

test("a process that has ended keeps its names for some drains, one that lives for ever", async () => {
  const { names, drain } = reader();
  const program = start("sleep", ["60"]);
  drain(seen(program.pid, "Ended"), seen(process.pid, "Lives"));
  await program.stop();
  drain(seen(1, "Other"));
  expect(names.name(WORD, program.pid).name).toBe("Ended");
  for (let i = 0; i < DRAINS; i++) drain();
  drain(seen(2, "Another"));
  expect(names.name(WORD, program.pid).whyUnnamed).toContain("its process was not known");
  expect(names.name(WORD, process.pid).name).toBe("Lives");
  // Whoever gets the pid has the frames named anew that the kernel side may know of the one before.
  expect(drain(seen(program.pid, "Next", 9n))).toEqual(["77 Next"]);
});
