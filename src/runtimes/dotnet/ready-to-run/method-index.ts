/** Finds the method that the code at an RVA of a precompiled image belongs to. */
import { firstWhere } from "../../../tick/binary-search.ts";
import { Unreadable } from "../memory.ts";
import type { MethodTables } from "./method-tables.ts";

/** A method of an image: a definition of one of its assemblies, or a generic instance. */
export type FoundMethod =
  | { readonly component: number; readonly row: number }
  /** Where its signature is among those of the instances. */
  | { readonly signature: number };

/** The RVAs of a function: from where it begins to where the next one does. */
export interface FunctionRange {
  readonly begin: number;
  readonly end: number;
}

export class MethodIndex {
  readonly #tables: MethodTables;

  constructor(tables: MethodTables) {
    this.#tables = tables;
  }

  /** The memory that the tables take, roughly. */
  get memoryBytes(): number {
    const { begins, methods, components, coldParts } = this.#tables;
    const tables = [begins, methods, components, coldParts];
    return tables.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** Finds the index of the function that is the body of the method at an RVA, -1 if it is not known. */
  bodyAt(rva: number): number {
    const { methods, maxFunclets } = this.#tables;
    const index = this.#hotPartOf(this.#functionAt(rva));
    for (let at = index; at >= 0 && index - at <= maxFunclets; at--) {
      if (methods[at]) return at;
    }
    return -1;
  }

  /** Says which method a function is the body of; throws Unreadable where that is not known. */
  methodOf(body: number): FoundMethod {
    const method = this.#tables.methods[body] ?? 0;
    if (method === 0)
      throw new Unreadable("its image does not say which method this code belongs to");
    if (method & 1) return { signature: method >>> 1 };
    return { component: this.#tables.components[body] ?? 0, row: method >>> 1 };
  }

  /** The function whose code is at an RVA; undefined where it is in front of all, or they are in no order. */
  functionAt(rva: number): FunctionRange | undefined {
    const { begins } = this.#tables;
    const index = this.#functionAt(rva);
    const [begin = Number.POSITIVE_INFINITY, end = Number.MAX_SAFE_INTEGER] = begins.subarray(
      index,
      index + 2,
    );
    return begin <= rva && rva < end ? { begin, end } : undefined;
  }

  /** Finds the index of the last function that begins at or before an RVA. */
  #functionAt(rva: number): number {
    const { begins } = this.#tables;
    return Math.max(0, firstWhere(0, begins.length, (index) => (begins[index] ?? 0) > rva) - 1);
  }

  /** Finds the index of the function that a part belongs to, mostly itself. Funclets follow a cold part, too. */
  #hotPartOf(index: number): number {
    const parts = this.#tables.coldParts;
    const behind = firstWhere(0, parts.length / 2, (at) => (parts[2 * at] ?? 0) > index);
    return behind === 0 ? index : (parts[2 * behind - 1] ?? index);
  }
}
