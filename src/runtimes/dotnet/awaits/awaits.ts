/**
 * Gathers what the kernel side must know to find who awaits a resumed async method: what methods are to it, and what
 * objects on the heap tell. Both are known by names, as methods and types are met.
 */
import {
  DOTNET_LARGE_BLOCK_SHIFT,
  DOTNET_ORDINARY,
  DOTNET_SMALL_BLOCK_SHIFT,
  FRAME_FILE_SHIFT,
} from "../../../../build/abi.ts";
import type { SeenMethod } from "../../../addon/drained.ts";
import type { Sampler } from "../../../addon/sampler.ts";
import type { NamedFunction } from "../../reader.ts";
import { readOr } from "../memory.ts";
import type { DotnetProcess } from "../process.ts";
import type { FunctionRange } from "../ready-to-run/method-index.ts";
import { unnamed } from "../unnamed.ts";
import { type Link, NO_LINK } from "./links.ts";
import { MachineNumbers, roleOf } from "./state-machines.ts";

/** So many methods that await are told apart, and so much of a function's code is told of. */
const MAX_NAMES = 100_000;
const MAX_CODE_BYTES = 1 << 16;
/** So many rows wait to be told at most. */
const MAX_WORDS = 1 << 18;

type Named = Pick<NamedFunction, "name" | "module" | "whyUnnamed">;

export class Awaits {
  readonly #machines = new MachineNumbers();
  /** Methods by number and 1, and their numbers by module and name. */
  readonly #names: NamedFunction[] = [];
  readonly #numbers = new Map<string, number>();
  #types: bigint[] = [];
  #roles: bigint[] = [];

  /** Notes a method of a process by its place there: its MethodDesc, or where its code begins if it has none. */
  noteMethod(named: Named, { pid, space }: Pick<SeenMethod, "pid" | "space">, place: number): void {
    const role = this.#roleOf(named);
    if (role === DOTNET_ORDINARY || this.#roles.length > MAX_WORDS) return;
    this.#roles.push(BigInt(place), BigInt(pid), 0n, space, BigInt(role));
  }

  /** Notes a function of a file; `range` says where its code lies there. */
  noteCode(named: Named, file: number, range: () => FunctionRange | undefined): void {
    const role = this.#roleOf(named);
    if (role === DOTNET_ORDINARY || this.#roles.length > MAX_WORDS) return;
    const code = range();
    if (!code || code.end - code.begin > MAX_CODE_BYTES) return;
    const start = BigInt(file) << BigInt(FRAME_FILE_SHIFT);
    for (const { shift, block } of blocksOf(code)) {
      const place = (start >> BigInt(shift)) + BigInt(block);
      this.#roles.push(place, 0n, BigInt(shift), 0n, BigInt(role));
    }
  }

  #roleOf({ name, module, whyUnnamed }: Named): number {
    return whyUnnamed === undefined ? roleOf(name, module, this.#machines) : DOTNET_ORDINARY;
  }

  /** Notes a type that the kernel side asks for; of what cannot be read nothing is known. */
  noteType({ methodDesc, pid, space }: SeenMethod, process: DotnetProcess): void {
    if (this.#types.length > MAX_WORDS) return;
    const link = readOr<Link>(() => process.linkOf(methodDesc), NO_LINK);
    const { machine } = link;
    const name = machine ? this.#number(machine.method, machine.module) : 0;
    const known = machine && name === 0 ? NO_LINK : link;
    const { flags, next, second, taskFlags, state, machineAt } = known;
    const number = machine ? this.#machines.of(machine.module, machine.type) : 0;
    const words = [name, number, known.link, flags, next, second, taskFlags, state, machineAt];
    this.#types.push(BigInt(methodDesc), BigInt(pid), space, ...words.map(BigInt));
  }

  #number(name: string, module: string): number {
    const key = `${module}\0${name}`;
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    if (this.#names.length >= MAX_NAMES) return 0;
    const number = this.#names.push({ runtime: "dotnet", name, module });
    this.#numbers.set(key, number);
    return number;
  }

  /** The method that awaits, by the number that the kernel side was told. */
  name(number: number): NamedFunction {
    return this.#names[number - 1] ?? unnamed("its process was not known when it was met");
  }

  /** Tells what was noted since the last call. */
  tell(sampler: Pick<Sampler, "tellDotnet">): void {
    if (this.#types.length + this.#roles.length === 0) return;
    sampler.tellDotnet(BigUint64Array.from(this.#types), BigUint64Array.from(this.#roles));
    this.#types = [];
    this.#roles = [];
  }
}

/** The large blocks that lie in a function, and small ones for the rest of it. */
function* blocksOf({ begin, end }: FunctionRange): Generator<{ shift: number; block: number }> {
  const [small, large] = [2 ** DOTNET_SMALL_BLOCK_SHIFT, 2 ** DOTNET_LARGE_BLOCK_SHIFT];
  for (let at = Math.ceil(begin / small) * small; at < end; ) {
    const isLarge = at % large === 0 && at + large <= end;
    const [size, shift] = isLarge
      ? [large, DOTNET_LARGE_BLOCK_SHIFT]
      : [small, DOTNET_SMALL_BLOCK_SHIFT];
    yield { shift, block: at / size };
    at += size;
  }
}
