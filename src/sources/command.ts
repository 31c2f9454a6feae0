/** A command that polytop starts itself, to sample it from its first instruction to its end. */
import { constants } from "node:os";
import { isatty } from "node:tty";
import { loadAddon } from "../addon/binding.ts";
import { sudoCaller, userOf } from "../machine/users.ts";
import { UserError } from "../tick/errors.ts";

/** How a command ended; `signal` is its number, 0 where none did that. */
export interface CommandEnd {
  readonly status: number;
  readonly signal: number;
}

export interface StartedCommand {
  readonly pid: number;
  readonly ended: Promise<CommandEnd>;
}

/** What else uses the standard streams: a screen, plain output, or nothing. */
export type StreamUse = "screen" | "output" | "none";

/** As a shell has it: found, but not to be run; or not found. */
const NOT_RUNNABLE = 126;
const NOT_FOUND = 127;

/** Starts it, as who called sudo where that started polytop. Throws a UserError where it cannot be run. */
export function startCommand(words: readonly string[], use: StreamUse): StartedCommand {
  const addon = loadAddon();
  const caller = callerOf(process.env);
  const own = caller ? { ...process.env, ...caller.environment } : process.env;
  try {
    const pid = addon.startCommand({
      words,
      environment: Object.entries(own).map(([name, value]) => `${name}=${value}`),
      descriptors: descriptorsFor(use),
      ...(caller ? { user: caller.user, uid: caller.uid, gid: caller.gid } : {}),
    });
    const ended = new Promise<CommandEnd>((resolve) =>
      addon.waitForCommand(pid, (status, signal) => resolve({ status, signal })),
    );
    return { pid, ended };
  } catch (error) {
    const { message, errno } = error as NodeJS.ErrnoException;
    throw new UserError(message, errno === constants.errno.ENOENT ? NOT_FOUND : NOT_RUNNABLE);
  }
}

/**
 * A screen has the terminal for itself. Plain output has standard output for itself, so that a program can read it:
 * what the command prints goes to standard error then.
 */
function descriptorsFor(use: StreamUse): [number, number, number] {
  if (use === "screen") return [-1, -1, isatty(2) ? -1 : 2];
  return use === "output" ? [0, 2, 2] : [0, 1, 2];
}

/** Who called sudo. */
function callerOf(variables: NodeJS.ProcessEnv) {
  const caller = sudoCaller(variables);
  if (!caller) return undefined;
  const { uid, gid } = caller;
  const { name = String(uid), home, shell } = userOf(uid) ?? {};
  const environment = {
    USER: name,
    LOGNAME: name,
    ...(home ? { HOME: home } : {}),
    ...(shell ? { SHELL: shell } : {}),
  };
  return { user: name, uid, gid, environment };
}
