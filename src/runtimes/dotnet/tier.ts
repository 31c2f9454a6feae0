/** Tells how the runtime made a body of a method: it compiles hot methods again, even in the middle of a loop. */
import { ARCHITECTURE } from "../../machine/architecture.ts";
import { type Layout, NEWEST_MEASURED } from "./layout.ts";
import { type ProcessMemory, pointerAt, Unreadable } from "./memory.ts";

/** Tiers as NativeCodeVersion numbers them (src/coreclr/vm/codeversion.h of .NET 9 to 11). */
const TIERS = [
  "tier 0",
  "tier 1",
  "OSR",
  "optimized",
  "tier 0 instrumented",
  "tier 1 instrumented",
] as const;

/** How a body was made; `OSR`: on-stack replacement, for a loop that was running. */
export type Tier = (typeof TIERS)[number] | "precompiled" | "compiled once";

/** A bit of MethodDesc.Flags3AndTokenRemainder: the method may be compiled again. */
const TIERED = 0x8000;

const OSR_PROLOG = Buffer.from(ARCHITECTURE.osrProlog, "hex");

/** Tiers of later bodies that only a method has whose first body was tier 0. */
const FOLLOWERS: readonly (string | undefined)[] = ["tier 1", "OSR", "tier 0 instrumented"];

const MAX_VERSIONS = 256;

/** A body of a method, as the runtime lists all but the first. */
interface Version {
  readonly code: number;
  readonly tier: Tier | undefined;
}

/** Tells the tiers of the bodies of one process. */
export class TierReader {
  readonly #memory: ProcessMemory;
  readonly #layout: Layout;

  constructor(memory: ProcessMemory, layout: Layout) {
    this.#memory = memory;
    this.#layout = layout;
  }

  /**
   * Tells the tier of the code that starts at `start`; undefined where it is not certain. `method` is the start of
   * its MethodDesc. A first body is certain to be tier 0 when hotter ones followed: the runtime does not count the
   * calls of what it optimizes at once. Throws Unreadable where the list of bodies cannot be read.
   */
  tier(start: number, methodDesc: number, method: Buffer): Tier | undefined {
    if ((method.readUInt16LE(0) & TIERED) === 0) return "compiled once";
    const { at } = this.#layout;
    const codeData = at["MethodDesc.CodeData"];
    // .NET 8 keeps the list in a table of its own.
    if (codeData === 0) return this.#isReplacement(start) ? "OSR" : undefined;
    // A later version may number them anew.
    if (this.#layout.major > NEWEST_MEASURED) return undefined;
    const versions = this.#versions(methodDesc, pointerAt(method, codeData));
    const own = versions.find(({ code }) => code === start);
    if (own) return own.tier;
    return versions.some(({ tier }) => FOLLOWERS.includes(tier)) ? "tier 0" : undefined;
  }

  #versions(methodDesc: number, codeData: number): Version[] {
    const { at } = this.#layout;
    const place = {
      code: at["NativeCodeVersionNode.NativeCode"],
      methodDesc: at["NativeCodeVersionNode.MethodDesc"],
      next: at["NativeCodeVersionNode.Next"],
      tier: at["NativeCodeVersionNode.OptimizationTier"],
    };
    const size = Math.max(...Object.values(place)) + 8;
    const follow = (from: number, offset: number): number =>
      from > 0 ? this.#memory.pointer(from + offset) : 0;
    const state = follow(codeData, at["MethodDescCodeData.VersioningState"]);
    let address = follow(state, at["MethodDescVersioningState.NativeCodeVersionNode"]);
    const versions: Version[] = [];
    while (address > 0) {
      const node = this.#memory.bytes(address, size);
      if (pointerAt(node, place.methodDesc) !== methodDesc || versions.length >= MAX_VERSIONS)
        throw new Unreadable("the list of its bodies does not fit");
      const tier = TIERS[node.readUInt32LE(place.tier)];
      versions.push({ code: pointerAt(node, place.code), tier });
      address = pointerAt(node, place.next);
    }
    return versions;
  }

  #isReplacement(start: number): boolean {
    return this.#memory.bytes(start, OSR_PROLOG.length).equals(OSR_PROLOG);
  }
}
