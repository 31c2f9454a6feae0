/** What the live view is beside its work: a window whose lines all change once a second. */
import { openWindow, type WindowContent } from "../../../src/terminal/window.tsx";

let seconds = 0;
let lines: readonly string[] = [];
let size = { columns: 0, rows: 0 };

/** A row as wide as those of functions: a share, a bar, a name. */
const line = (row: number): string => {
  const share = (97 * (row + 1) * (seconds + 1)) % 1000;
  const bar = "\u2588".repeat(share % 20).padEnd(20);
  return `${(share / 10).toFixed(1).padStart(6)} ${bar} function_${row} libc.so.6`.slice(
    0,
    size.columns,
  );
};

const content: WindowContent = {
  frame: (now) => {
    if (now.columns !== size.columns || now.rows !== size.rows) {
      size = now;
      lines = Array.from({ length: size.rows - 1 }, (_, row) => line(row));
    }
    return lines;
  },
  subscribe: (listener) => {
    const timer = setInterval(() => {
      seconds++;
      lines = lines.map((_, row) => line(row));
      listener();
    }, 1000);
    return () => clearInterval(timer);
  },
  paste: () => {},
  key: () => window.close(),
  attach: () => {},
};

const window = openWindow(content, process);
await window.closed;
process.exit(0);
