/** Small tables of texts. */
import { renderToString, Text } from "ink";
import { Table } from "ink-table";
import type { ReactElement, ReactNode } from "react";

/** A row of a table; the keys are the headings. */
export type TableRow = Readonly<Record<string, string>>;

const Cell = ({ children }: { children?: ReactNode }): ReactElement => (
  <Text wrap="truncate">{children}</Text>
);

const Heading = ({ children }: { children?: ReactNode }): ReactElement => (
  <Text wrap="truncate" bold>
    {children}
  </Text>
);

const NoSkeleton = (): null => null;

/** The lines of a table in a window of so many columns, the headings first. */
export function tableLines(rows: readonly TableRow[], columns: number): string[] {
  const table = <Table data={[...rows]} cell={Cell} header={Heading} skeleton={NoSkeleton} />;
  return renderToString(table, { columns }).split("\n");
}
