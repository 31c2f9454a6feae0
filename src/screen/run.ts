/** Runs the live screen: the one thing that the command line knows of it. */
import { isAlive } from "../machine/process.ts";
import { listProcesses } from "../machine/process-list.ts";
import { canBeAsked } from "../machine/terminal-colours.ts";
import type { SortKey } from "../model/sort.ts";
import { watchForEnd } from "../terminal/process.ts";
import { openWindow } from "../terminal/window.tsx";
import { clean, duration, thousands } from "../text/format.ts";
import type { TickSource } from "../tick/source.ts";
import type { Unit } from "../tick/tick.ts";
import { areSamples, unitRow } from "../tick/units.ts";
import { Composer } from "./composer.ts";
import { Bodies, type FrameTools } from "./frame.ts";
import type { IsAlive } from "./nothing.ts";
import { BLACK, type Depth, WHITE } from "./palette.ts";
import { type EventTools, Session, type WriteTicks } from "./state/session.ts";
import { makeTheme } from "./theme.ts";

/** The live screen needs these. */
export interface ScreenOptions {
  readonly source: TickSource;
  readonly delaySeconds: number;
  readonly pids: readonly number[];
  /** The filter that is in force at first; it is known to be right. */
  readonly filterText: string;
  readonly sort: SortKey;
  readonly kernel: boolean;
  readonly nativeFrames: boolean;
  readonly idle?: boolean;
  readonly physical?: boolean;
  readonly readableNames?: boolean;
  /** How many colours the terminal has. */
  readonly depth: Depth;
  /** What is behind its text, where somebody says so: the terminal is asked otherwise. */
  readonly background?: "dark" | "light";
  readonly unicode: boolean;
  readonly host: string;
  /** The screen ends by itself after so many refreshes. */
  readonly iterations?: number;
  /** Ink draws by itself, so that the two can be compared. */
  readonly plainInk?: boolean;
  /** This ends the screen from outside. */
  readonly signal?: AbortSignal;
  /** Knows whether a process is there; this machine's /proc when left out. */
  readonly alive?: IsAlive;
  /** The ticks are of another machine or time: /proc says nothing about them. */
  readonly remote?: boolean;
  /** Writes ticks to a file and says where; the key `w` asks for it. */
  readonly write?: WriteTicks;
  /** Counts other events; where it is left out nobody can. */
  readonly eventTools?: EventTools;
}

/** Totals are in the unit of what was asked for. */
const unitOf = ({ asked }: Session): Unit => asked?.unit ?? "samples";
const isInSamples = (session: Session): boolean => areSamples(unitOf(session));
const amountOf = (session: Session, amount: number): string =>
  isInSamples(session) ? thousands(amount) : unitRow(unitOf(session)).text(amount);

function summaryOf(session: Session): string {
  const { totals } = session;
  if (totals.samples === 0) return "polytop: no samples.";
  const complete = (100 * totals.complete) / totals.samples;
  const missed = totals.missed > 0 ? `, ${amountOf(session, totals.missed)} missed` : "";
  const share = (100 * totals.guessed) / totals.samples;
  const guessed = totals.guessed > 0 ? `, ${share.toFixed(1)} % guessed` : "";
  const amount = `${amountOf(session, totals.samples)}${isInSamples(session) ? " samples" : ""}`;
  return `polytop: ${amount} in ${duration(totals.seconds)}, ${complete.toFixed(1)} % complete${guessed}${missed}.`;
}

/**
 * Runs the live screen until its user, a signal or the terminal ends it. The terminal is as it was
 * afterwards, with a line of summary. There has to be a terminal on stdin and stdout. Rejects with what the source
 * failed of.
 */
export async function runScreen(options: ScreenOptions): Promise<void> {
  const { source, host } = options;
  const { stdin, stdout } = process;
  const isHere = options.remote !== true;
  const { write, eventTools } = options;
  const session = new Session(source, options, {
    ...(write ? { write } : {}),
    ...(eventTools ? { events: eventTools } : {}),
    ...(isHere ? { processes: listProcesses } : {}),
  });
  const tools: FrameTools = {
    bodies: new Bodies(),
    theme: makeTheme(
      { depth: options.depth, background: options.background === "light" ? WHITE : BLACK },
      options.unicode,
    ),
    host,
    alive: options.alive ?? (isHere ? isAlive : () => undefined),
    isReplay: !isHere,
  };
  const composer = new Composer(session, tools);
  const window = openWindow(
    composer,
    { stdin, stdout },
    {
      plainInk: options.plainInk,
      ...(options.depth === "none" || options.background !== undefined || !canBeAsked(process.env)
        ? {}
        : {
            onBackground: (background) =>
              composer.paint(makeTheme({ depth: options.depth, background }, options.unicode)),
          }),
    },
  );
  let isGone = false;
  const end = (): void => window.close();
  options.signal?.addEventListener("abort", end, { once: true });
  const unwatch = watchForEnd(stdin, stdout, (why) => {
    isGone = why === "terminal";
    end();
  });
  const failures: unknown[] = [];
  source.ended?.catch((error: unknown) => {
    failures.push(error);
    end();
  });
  const unsubscribe = session.start();
  const stopCounting = session.subscribe(() => {
    if (options.iterations && session.received >= options.iterations) end();
  });
  try {
    await window.closed;
  } finally {
    stopCounting();
    unsubscribe();
    unwatch();
    options.signal?.removeEventListener("abort", end);
  }
  if (failures.length > 0) throw failures[0];
  if (isGone) return;
  const notices = [...session.told].map((text) => `! ${clean(text, options.unicode)}\n`);
  stdout.write(`${summaryOf(session)}\n${notices.join("")}`);
}
