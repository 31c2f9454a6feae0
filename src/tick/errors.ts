/**
 * Errors that are meant for the user: what failed, where, and what to do about it, in
 * one or two lines. The exit status is the one that the documentation promises.
 */

/** Done; also when a pipe closes and on SIGINT and SIGTERM. */
export const EXIT_OK = 0;
/** It failed while running. */
export const EXIT_FAILED = 1;
/** Wrong usage. */
const EXIT_USAGE = 2;
/** This machine or this user cannot run it. */
export const EXIT_CANNOT = 3;

/** An error whose message is for the user; others are faults of polytop. */
export class UserError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT_FAILED) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Wrong usage of the command line. */
export class UsageError extends UserError {
  constructor(message: string) {
    super(message, EXIT_USAGE);
  }
}
