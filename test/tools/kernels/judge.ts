/** What must hold on every kernel. */
import { WAIT_SHARES } from "../../support/waits.ts";
import type { EventFindings, ProgramFindings, WaitFindings } from "./findings.ts";

/** What must be complete and named: the programs' own code is, whatever the kernel. */
const BAR = 0.99;
/** Points by which shares of waiting may be off on an emulated CPU. */
const NEAR = 4;

export const isProgramRight = ({
  samples,
  complete,
  named,
  hasFunction,
}: ProgramFindings): boolean =>
  hasFunction && Math.min(complete, named) >= BAR * samples && samples > 0;

export const areWaitsRight = ({ wrong, shares, complete, hasDeadlock }: WaitFindings): boolean =>
  wrong.length === 0 &&
  WAIT_SHARES.every((share, at) => Math.abs(share - (shares[at] ?? 0)) <= NEAR) &&
  complete >= BAR &&
  hasDeadlock;

export const areEventsRight = ({ wrong, complete }: EventFindings): boolean =>
  wrong.length === 0 && complete >= BAR;
