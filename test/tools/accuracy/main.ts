/**
 * How right polytop is: its figures against programs whose truth is known, and against perf.
 * Run with the project's Node: node test/tools/accuracy/main.ts [section…]
 */
import { measure } from "../../support/measure.ts";
import { attackSections } from "./attacks.ts";
import { commands } from "./commands.ts";
import { dotnet } from "./dotnet.ts";
import { dotnetCalls } from "./dotnet-calls.ts";
import { dotnetPrecompiled } from "./dotnet-precompiled.ts";
import { dotnetStacks } from "./dotnet-stacks.ts";
import { events } from "./events.ts";
import { first } from "./first.ts";
import { guessSections } from "./guesses.ts";
import { idle } from "./idle.ts";
import { javascript } from "./javascript.ts";
import { native } from "./native.ts";
import { perf } from "./perf.ts";
import { perl } from "./perl.ts";
import { debianPrograms } from "./programs.ts";
import { python } from "./python.ts";
import { pythonProgramSections } from "./python-programs.ts";
import { reuse } from "./reuse.ts";
import { rowsFromCode } from "./rows-from-code.ts";
import { sidPrograms } from "./sid-programs.ts";
import { soak } from "./soak/soak.ts";
import { ticks } from "./ticks.ts";
import { waits } from "./waits.ts";
import { walkedTwice } from "./walked-twice.ts";

const held = await measure([
  ...native,
  rowsFromCode,
  walkedTwice,
  ...first,
  ...guessSections,
  ...perf,
  ...waits,
  ...events,
  ...commands,
  ...idle,
  ...perl,
  ...python,
  ...pythonProgramSections,
  ...javascript,
  ...ticks,
  ...dotnet,
  ...dotnetStacks,
  ...dotnetCalls,
  ...dotnetPrecompiled,
  ...debianPrograms,
  ...sidPrograms,
  ...reuse,
  ...attackSections,
  soak,
]);
process.exit(held ? 0 : 1);
