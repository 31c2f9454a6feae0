/** Events other than the CPU's time as the addon takes them (native/events/event_setup.h). */
import type { Unit } from "../tick/tick.ts";

/** Instructions of a file that are probed. */
export interface FileProbes {
  readonly path: string;
  /** File offsets: of the instruction, and of the counter that tells the program of a probe (0: none). */
  readonly places: readonly { readonly offset: number; readonly semaphore: number }[];
}

/** What the addon must know of an event to count it. */
export interface EventSetup {
  /** As it was asked for. */
  readonly name: string;
  /** One of enum event_kind (bpf/event/abi.h). */
  readonly kind: number;
  /** `perf_event_attr.type` and `.config`. */
  readonly type?: number;
  readonly config?: number;
  /** Who is counted: letters as perf has them. */
  readonly modifiers?: string;
  /** The kernel chooses the period by the frequency. */
  readonly hasOwnPeriod?: boolean;
  /** The kernel's part of a stack says nothing. */
  readonly withoutKernelStack?: boolean;
  /** The field of a tracepoint's record that hits are weighed by. */
  readonly fieldOffset?: number;
  readonly fieldSize?: number;
  readonly fieldSigned?: boolean;
  readonly files?: readonly FileProbes[];
  /** Functions of the kernel. */
  readonly functions?: readonly string[];
}

/** An event with its number in a run, from 1 on, and how often it is looked at. */
export interface NumberedEvent extends EventSetup {
  readonly number: number;
  /** Every so-many-th hit; 0: as the frequency says. */
  readonly period: number;
  /** Stacks a second on each CPU at most. */
  readonly frequency: number;
}

/** An event that this machine can count. */
export interface ResolvedEvent {
  readonly name: string;
  readonly unit: Unit;
  /** None: the CPU's time. */
  readonly setup?: EventSetup;
  /** What its reader should know, e.g. which functions were found. */
  readonly notice?: string;
}
