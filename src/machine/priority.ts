/**
 * The order in which polytop's threads get a CPU. A top is looked at when none is free: its keys must
 * not wait in line behind what it is there to find, nor behind polytop's own threads. They take no
 * more of a CPU by it, only sooner.
 */
import { readdirSync } from "node:fs";
import { setPriority } from "node:os";

/** The thread that answers keys gets the highest priority of setpriority(2). */
const SCREEN_NICE = -20;

/** Where nobody waits for a key it is one of those that collect, as the threads of the addon do. */
const COLLECTOR_NICE = -15;

function trySetPriority(thread: number, nice: number): void {
  try {
    setPriority(thread, nice);
  } catch {
    // Without CAP_SYS_NICE the thread waits like everybody else; or it has ended.
  }
}

/**
 * Puts the threads that the process has by now in front of all others: the main one, and those that
 * it waits for when it collects garbage.
 */
export function putScreenFirst(): void {
  // Linux sets the priority of a thread, whatever setpriority(2) says of processes.
  for (const thread of readdirSync("/proc/self/task")) trySetPriority(Number(thread), SCREEN_NICE);
}

/** Puts the calling thread beside those of the addon, in front of all others. */
export function putCollectorFirst(): void {
  trySetPriority(0, COLLECTOR_NICE);
}
