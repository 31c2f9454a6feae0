/** What a test or a measurement asks of the fixture, as JSON in POLYTOP_FIXTURE. */
import type { Workload } from "./generate.ts";

export interface FixtureOptions {
  /** Between ticks: 1000 where it is left out. */
  readonly intervalMs?: number;
  /** No more ticks come than this. */
  readonly ticks?: number;
  readonly color?: boolean;
  readonly depth?: "few" | "many";
  readonly background?: "dark" | "light" | "asked";
  readonly unicode?: boolean;
  readonly filter?: string;
  readonly idle?: boolean;
  /** Shows this recording instead, all of it at once. */
  readonly recording?: string;
  /** Without the short cut. */
  readonly plainInk?: boolean;
  readonly workload?: Workload;
  /**
   * After so many ticks the memory in use is measured; after the last of them "that was all" is on
   * the screen. At the end it is told, in bytes, as `MEMORY [1,2]`. Needs Node's --expose-gc.
   */
  readonly memoryAt?: readonly number[];
}
