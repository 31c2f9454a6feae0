/**
 * Reads small pieces of the memory of processes by the page: the structures of a runtime lie close together, and each
 * piece that is read for itself wakes the program that reads memory.
 *
 * A round is the time in which what was met before it is named. A page says how the process was in the same round: what
 * was met was there already when the first page was read. Who must know how it is at this moment reads it past this.
 */
import type { ReadMemory } from "./memory.ts";

const PAGE = 4096;
/** Larger pieces are those of whole images. */
const LARGEST_PIECE = 512;
/** Naming all that one refresh meets of a compiler takes some hundred. */
const MAX_PAGES = 512;

export class RecentPages {
  readonly #read: ReadMemory;
  /** By process and number. */
  readonly #pages = new Map<number, Map<number, Uint8Array>>();
  #count = 0;

  constructor(read: ReadMemory) {
    this.#read = read;
  }

  /** Begins or ends a round: no page is known any more. */
  forget(): void {
    this.#pages.clear();
    this.#count = 0;
  }

  /** The bytes at an address, as they are or were in this round; fewer where a page is missing. */
  read(pid: number, address: bigint, size: number): Uint8Array {
    const at = Number(address);
    const number = Math.floor(at / PAGE);
    const offset = at - number * PAGE;
    if (size > LARGEST_PIECE || offset + size > PAGE) return this.#read(pid, address, size);
    return this.#page(pid, number).subarray(offset, offset + size);
  }

  #page(pid: number, number: number): Uint8Array {
    const known = this.#pages.get(pid)?.get(number);
    if (known) return known;
    const page = this.#read(pid, BigInt(number * PAGE), PAGE);
    // What is missing now may be there when it is asked for again.
    if (page.length < PAGE) return page;
    if (this.#count >= MAX_PAGES) this.forget();
    this.#count++;
    const pages = this.#pages.get(pid) ?? new Map<number, Uint8Array>();
    this.#pages.set(pid, pages.set(number, page));
    return page;
  }
}
