/** Pages of processes' memory that are kept for a round. */
import { expect, test } from "vitest";
import { RecentPages } from "../../../src/runtimes/dotnet/recent-pages.ts";

const PAGE = 4096;

/** Memory of three pages from page 1 on, of which the last is missing; each process has its own number in it. */
function memoryOf() {
  const bytes = new Map<number, Buffer>();
  const reads: string[] = [];
  const read = (pid: number, address: bigint, size: number): Buffer => {
    reads.push(`${pid}:${address}+${size}`);
    const whole = bytes.get(pid) ?? Buffer.alloc(3 * PAGE, pid);
    bytes.set(pid, whole);
    return Buffer.from(whole.subarray(Number(address), Number(address) + size));
  };
  const take = (): string[] => reads.splice(0);
  return { recent: new RecentPages(read), bytes, take };
}

test("are read once in a round, and anew in the next", () => {
  const { recent, bytes, take } = memoryOf();
  expect([...recent.read(7, 0x1010n, 2)]).toEqual([7, 7]);
  expect([...recent.read(7, 0x1ff8n, 8)]).toEqual(Array(8).fill(7));
  expect(take()).toEqual(["7:4096+4096"]);
  bytes.get(7)?.fill(9);
  expect([...recent.read(7, 0x1010n, 2)]).toEqual([7, 7]);
  recent.forget();
  expect([...recent.read(7, 0x1010n, 2)]).toEqual([9, 9]);
  expect(take()).toEqual(["7:4096+4096"]);
});

test("are those of one process each", () => {
  const { recent } = memoryOf();
  expect([...recent.read(7, 0x1000n, 1), ...recent.read(8, 0x1000n, 1)]).toEqual([7, 8]);
  expect([...recent.read(7, 0x1000n, 1)]).toEqual([7]);
});

test("are not kept of a large piece, one on two pages, and what is missing", () => {
  const { recent, take } = memoryOf();
  expect(recent.read(7, 0x1000n, PAGE).length).toBe(PAGE);
  expect(recent.read(7, 0x1ffcn, 8).length).toBe(8);
  expect(take()).toEqual(["7:4096+4096", "7:8188+8"]);
  expect(recent.read(7, 0x3000n, 8).length).toBe(0);
  expect(recent.read(7, 0x3000n, 8).length).toBe(0);
  expect(take()).toEqual(["7:12288+4096", "7:12288+4096"]);
});

test("are so many at most", () => {
  const pages = new Set<bigint>();
  let reads = 0;
  const recent = new RecentPages((_pid, address, size) => {
    reads++;
    pages.add(address);
    return Buffer.alloc(size);
  });
  for (let round = 0; round < 2; round++)
    for (let page = 1; page <= 600; page++) recent.read(7, BigInt(page * PAGE), 8);
  expect(pages.size).toBe(600);
  // The first 512 went before the others came, and these before the second time.
  expect(reads).toBe(1200);
});
