/** Starts the screen over made-up ticks, in the tests of a file; what they leave open is ended. */
import { afterEach, beforeAll, vi } from "vitest";
import { bundleFixture } from "./bundle.ts";
import type { FixtureOptions } from "./fixture-options.ts";
import { TestTerminal } from "./terminal.ts";

/** How a test starts the fixture. */
export interface StartOptions extends FixtureOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Flags of Node. */
  readonly flags?: readonly string[];
}

/** What the tests of a file start terminals with. */
export interface Terminals {
  /** The fixture in a terminal of its own. */
  start(columns: number, rows: number, options?: StartOptions): TestTerminal;
  /** Ends a terminal that was opened otherwise after the test. */
  keep(terminal: TestTerminal): TestTerminal;
  /** Where the fixture is; once tests run. */
  readonly fixture: string;
}

/** Registers what the tests of a file need; `usual` holds where a test does not say otherwise. */
export function openTerminals(usual: FixtureOptions): Terminals {
  // Starting a program in a terminal takes long where everything else is tested at the same time.
  vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });
  const open: TestTerminal[] = [];
  let fixture = "";
  beforeAll(async () => {
    fixture = await bundleFixture();
  });
  afterEach(async () => {
    for (const terminal of open.splice(0)) {
      terminal.kill("SIGKILL");
      await terminal.exited;
    }
  });
  const keep = (terminal: TestTerminal): TestTerminal => {
    open.push(terminal);
    return terminal;
  };
  return {
    keep,
    get fixture() {
      return fixture;
    },
    start: (columns, rows, { env, flags = [], ...options } = {}) =>
      keep(
        new TestTerminal(process.execPath, [...flags, fixture], {
          columns,
          rows,
          env: { POLYTOP_FIXTURE: JSON.stringify({ ...usual, ...options }), ...env },
        }),
      ),
  };
}

/** How often the whole screen was cleared: what flickers. */
export const clears = (output: string): number => output.split("\u001b[1;1H\u001b[J").length - 1;
