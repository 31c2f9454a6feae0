/** How the runtime made a body of a method: it compiles a method again when it is hot, or in the middle of a loop. */
import { ARCHITECTURE } from "../../machine/architecture.ts";
import type { Layout } from "./layout.ts";
import { type ProcessMemory, pointerAt, Unreadable } from "./memory.ts";

/** Tiers as NativeCodeVersion numbers them (src/coreclr/vm/codeversion.h of .NET 9 and 10). */
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

/** Siblings that only a method has whose first body was tier 0. */
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
   * The tier of the code that starts at `start`; undefined where it is not certain. `method`: the start of its
   * MethodDesc. A first body is certain to be tier 0 when hotter ones followed: what the runtime optimizes at
   * once it does not count the calls of. Throws Unreadable where the list of bodies cannot be read.
   */
  tier(start: number, methodDesc: number, method: Buffer): Tier | undefined {
    if ((method.readUInt16LE(0) & TIERED) === 0) return "compiled once";
    const { methodCodeData, versionTier } = this.#layout;
    // 8 keeps the list in a table of its own.
    if (methodCodeData === 0) return this.#isReplacement(start) ? "OSR" : undefined;
    if (versionTier === 0) return undefined;
    const versions = this.#versions(methodDesc, pointerAt(method, methodCodeData));
    const own = versions.find(({ code }) => code === start);
    if (own) return own.tier;
    return versions.some(({ tier }) => FOLLOWERS.includes(tier)) ? "tier 0" : undefined;
  }

  #versions(methodDesc: number, codeData: number): Version[] {
    const layout = this.#layout;
    const { versionCode, versionMethodDesc, versionNext, versionTier } = layout;
    const size = Math.max(versionCode, versionMethodDesc, versionNext, versionTier) + 8;
    const state = codeData > 0 ? this.#memory.pointer(codeData + layout.codeDataVersions) : 0;
    let at = state > 0 ? this.#memory.pointer(state + layout.versionsFirst) : 0;
    const versions: Version[] = [];
    while (at > 0) {
      const node = this.#memory.bytes(at, size);
      if (pointerAt(node, versionMethodDesc) !== methodDesc || versions.length >= MAX_VERSIONS)
        throw new Unreadable("the list of its bodies does not fit");
      const tier = TIERS[node.readUInt32LE(versionTier)];
      versions.push({ code: pointerAt(node, versionCode), tier });
      at = pointerAt(node, versionNext);
    }
    return versions;
  }

  #isReplacement(start: number): boolean {
    return this.#memory.bytes(start, OSR_PROLOG.length).equals(OSR_PROLOG);
  }
}
