/** The size of a terminal. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Reads the size of a terminal; one that does not know its own, as a serial line, is taken for the usual one. */
export const sizeOf = ({ columns, rows }: NodeJS.WriteStream): Size => ({
  columns: columns || 80,
  rows: rows || 24,
});
