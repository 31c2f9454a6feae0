/** Small tables of texts. Without JSX: Node runs the tools that load this file as it is. */
import { renderToString, Text } from "ink";
import { Table } from "ink-table";
import { createElement, type ReactElement, type ReactNode } from "react";

/** A row of a table; the keys are the headings. */
export type TableRow = Readonly<Record<string, string>>;

interface CellProps {
  readonly children?: ReactNode;
}

const cell = ({ children }: CellProps): ReactElement =>
  createElement(Text, { wrap: "truncate" }, children);

const header = ({ children }: CellProps): ReactElement =>
  createElement(Text, { wrap: "truncate", bold: true }, children);

const skeleton = (): null => null;

/** The lines of a table in a window of so many columns, the headings first. */
export function tableLines(rows: readonly TableRow[], columns: number): string[] {
  const table = createElement(Table<TableRow>, { data: [...rows], cell, header, skeleton });
  return renderToString(table, { columns }).split("\n");
}
