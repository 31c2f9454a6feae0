/** What polytop must know of the processors that it runs on: no other file of src/ names one. */
import { arch } from "node:os";

/** The facts of one architecture. */
export interface Architecture {
  /** What people call it. */
  readonly name: string;
  /** The end of the name of Debian's package of the kernel for it. */
  readonly debian: string;
  /** Addresses of user space are below 2 to this power. */
  readonly userAddressBits: number;
  /** The first instructions of a .NET method that takes over the frame of a running one (OSR), in hexadecimal. */
  readonly osrProlog: string;
}

/** The architectures that polytop runs on, by Node's names for them. */
const ARCHITECTURES = {
  x64: {
    name: "x86-64",
    debian: "amd64",
    userAddressBits: 47,
    // mov rax,[rbp]; push rax
    osrProlog: "488b450050",
  },
} as const satisfies Readonly<Record<string, Architecture>>;

/** What people call the architectures that polytop runs on. */
export const SUPPORTED = Object.values(ARCHITECTURES)
  .map(({ name }) => name)
  .join(" or ");

/** The architecture of a name of Node's; undefined if polytop does not run on it. */
export function architectureNamed(name: string): Architecture | undefined {
  return new Map<string, Architecture>(Object.entries(ARCHITECTURES)).get(name);
}

/** The architecture of this machine. The addon exists for no other: where it is loaded, this is right. */
export const ARCHITECTURE: Architecture = architectureNamed(arch()) ?? ARCHITECTURES.x64;
