/** Names code that a process generated itself and that no file holds. */
import { statSync } from "node:fs";
import { FRAME_ANONYMOUS } from "../../../build/abi.ts";
import { atOnce } from "../../machine/steps.ts";
import type { NewFrames } from "../new-frames.ts";
import type { NamedFrame, RuntimeReader } from "../reader.ts";
import { PerfMaps } from "./perf-map.ts";
import type { PerfMapName } from "./process-map.ts";

/** What stands for the file of such code. */
const MODULE = "[jit]";

/** Code in polytop's own process: what V8 compiled of it. */
const OWN: NamedFrame = {
  function: {
    runtime: "native",
    name: "[JavaScript of polytop]",
    module: MODULE,
    whyUnnamed: "generated code of polytop itself, which writes no map of it",
  },
};
/** The inode of the first pid namespace: PROC_PID_INIT_INO in include/linux/proc_ns.h of Linux. */
const FIRST_NAMESPACE = 0xefff_fffc;

/** A frame that was named, or could not be. */
interface Followed {
  readonly address: bigint;
  name: string;
}

/** Names functions by the maps that JIT compilers may write, and names them anew when their code gives way to other. */
export class JitReader implements RuntimeReader {
  readonly #maps = new PerfMaps();
  /** The kernel counts pids of the first namespace. */
  readonly #ownPid =
    statSync("/proc/self/ns/pid", { throwIfNoEntry: false })?.ino === FIRST_NAMESPACE
      ? process.pid
      : undefined;
  /** Frames by their numbers, which ascend, of each process. */
  readonly #followed = new Map<number, Map<number, Followed>>();
  /** Processes with such frames that were counted last. */
  #counted: readonly number[] = [];

  /**
   * Reads on in all maps in one go, so that it can be divided among users: those of new frames, and of processes that
   * were counted last time and will be again.
   */
  readAhead(frames: NewFrames): Iterator<void> {
    const wanted = new Set(this.#counted);
    for (let index = 0; index < frames.length; index++) {
      if (frames.kind(index) === FRAME_ANONYMOUS) wanted.add(frames.owner(index));
    }
    if (this.#ownPid !== undefined) wanted.delete(this.#ownPid);
    return this.#maps.reading(wanted);
  }

  symbolize(frames: NewFrames, index: number): NamedFrame | undefined {
    if (frames.kind(index) !== FRAME_ANONYMOUS) return undefined;
    const pid = frames.owner(index);
    if (pid === this.#ownPid) return OWN;
    const address = frames.value(index);
    const named = generated(this.#maps.find(pid, address));
    const ofProcess = this.#followed.get(pid) ?? new Map<number, Followed>();
    this.#followed.set(pid, ofProcess);
    ofProcess.set(frames.first + index, { address, name: named.function.name });
    return named;
  }

  *renamed(pids: ReadonlySet<number>): Iterable<readonly [number, NamedFrame]> {
    this.#counted = [...this.#followed.keys()].filter((pid) => pids.has(pid));
    atOnce(this.#maps.reading(this.#counted));
    for (const pid of this.#counted) {
      const frames = this.#followed.get(pid) ?? [];
      const changes = this.#maps.takeChanges(pid);
      if (!changes) continue;
      for (const [number, frame] of frames) {
        if (!changes(Number(frame.address))) continue;
        const named = generated(this.#maps.find(pid, frame.address));
        if (named.function.name === frame.name) continue;
        frame.name = named.function.name;
        yield [number, named];
      }
    }
  }

  notices(): string[] {
    return this.#maps.notices();
  }

  forgetBelow(number: number): void {
    for (const [pid, frames] of this.#followed) {
      for (const known of frames.keys()) {
        if (known >= number) break;
        frames.delete(known);
      }
      if (frames.size === 0) this.#followed.delete(pid);
    }
  }
}

const generated = (found: PerfMapName): NamedFrame => ({
  function:
    found.whyUnnamed === undefined
      ? { runtime: "native", name: found.name, module: MODULE }
      : {
          runtime: "native",
          name: "[generated code]",
          module: MODULE,
          whyUnnamed: found.whyUnnamed,
        },
});
