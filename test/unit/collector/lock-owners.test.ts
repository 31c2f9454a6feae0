import { expect, test } from "vitest";
import { fileLockHolders, LockOwners } from "../../../src/collector/lock-owners.ts";

test("who waits stands below who holds", () => {
  const text = `1: FLOCK  ADVISORY  WRITE 12952 fe:00:11658987 0 EOF
1: -> FLOCK  ADVISORY  WRITE 16539 fe:00:11658987 0 EOF
1:  -> FLOCK  ADVISORY  WRITE 28252 fe:00:11658987 0 EOF
2: POSIX  ADVISORY  READ 6532 fe:00:11657569 0 EOF
2: -> POSIX  ADVISORY  WRITE 12953 fe:00:11657569 10 20
3: OFDLCK ADVISORY  WRITE -1 fe:00:11657570 0 EOF
3: -> OFDLCK ADVISORY  WRITE 7 fe:00:11657570 0 EOF
`;
  expect([...fileLockHolders(text)]).toEqual([
    [16539, 12952],
    [28252, 12952],
    [12953, 6532],
    [7, 0],
  ]);
});

test("a process whose threads wait for several says nothing", () => {
  const text = `1: FLOCK  ADVISORY  WRITE 1 fe:00:5 0 EOF
1: -> FLOCK  ADVISORY  WRITE 9 fe:00:5 0 EOF
2: FLOCK  ADVISORY  WRITE 2 fe:00:6 0 EOF
2: -> FLOCK  ADVISORY  WRITE 9 fe:00:6 0 EOF
`;
  expect(fileLockHolders(text).get(9)).toBe(0);
});

test("lines of no lock are passed over", () => {
  expect(fileLockHolders("\n1:\nnothing -> of it\n").size).toBe(0);
});

test("an owner is a thread of the process, or none", () => {
  const owners = new LockOwners();
  expect(owners.thread(process.pid, process.pid)).toBe(process.pid);
  expect(owners.thread(process.pid, 1)).toBe(0);
  expect(owners.thread(process.pid, 2 ** 32 - 1)).toBe(0);
  expect(owners.thread(2 ** 31 + 5, 1)).toBe(0);
});
