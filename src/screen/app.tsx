/** The live screen: Ink draws the lines that pure functions made. */
import { Box, Text, useApp, useInput, useWindowSize } from "ink";
import { Table } from "ink-table";
import { memo, type ReactElement, type ReactNode, useEffect, useSyncExternalStore } from "react";
import { composeFrame, type Frame, type FrameTools, type Size } from "./frame.ts";
import { keyNames } from "./keys.ts";
import type { MetricRow } from "./metrics.ts";
import type { Session } from "./session.ts";
import { stopProcess } from "./terminal.ts";

const Row = memo(function Row({ text }: { text: string }): ReactElement {
  // An empty text would have no height.
  return <Text wrap="truncate">{text === "" ? " " : text}</Text>;
});

const TableCell = ({ children }: { children?: ReactNode }): ReactElement => (
  <Text wrap="truncate">{children}</Text>
);

const TableHeading = ({ children }: { children?: ReactNode }): ReactElement => (
  <Text wrap="truncate" bold>
    {children}
  </Text>
);

const NoSkeleton = (): null => null;

/** Lines have fixed places, so the place is their identity: what changes is the text. */
const rows = (lines: readonly string[], part: string): ReactElement[] => {
  const keys = Array.from(lines, (_, i) => `${part}${i}`);
  return keys.map((key, i) => <Row key={key} text={lines[i] ?? ""} />);
};

const MetricTable = memo(function MetricTable({
  data,
}: {
  data: readonly MetricRow[];
}): ReactElement {
  return <Table data={[...data]} cell={TableCell} header={TableHeading} skeleton={NoSkeleton} />;
});

/** Composes each frame once, however often it is asked for. */
export class Composer {
  readonly #session: Session;
  readonly #tools: FrameTools;
  #made: { version: number; size: Size; frame: Frame } | undefined;
  size: Size = { columns: 80, rows: 24 };

  constructor(session: Session, tools: FrameTools) {
    this.#session = session;
    this.#tools = tools;
  }

  frame(): Frame {
    const version = this.#session.version();
    const { size } = this;
    const made = this.#made;
    if (made?.version === version && made.size === size) return made.frame;
    const frame = composeFrame(this.#session, size, this.#tools);
    this.#made = { version, size, frame };
    return frame;
  }
}

/** The window. All keys come in here, and what they mean is up to the session. */
export function App({ session, composer }: { session: Session; composer: Composer }): ReactElement {
  const { exit, suspendTerminal } = useApp();
  const { columns, rows: height } = useWindowSize();
  useSyncExternalStore(session.subscribe, session.version);
  useInput((input, key) => {
    for (const name of keyNames(input, key)) session.key(name);
  });
  useEffect(() => {
    // Both are refused while the terminal is handed over already: then there is nothing to do.
    const handOver = (during: () => Promise<void>): void => {
      suspendTerminal(during).catch(() => {});
    };
    session.terminal = {
      quit: () => exit("quit"),
      suspend: () => handOver(stopProcess),
      redraw: () => handOver(() => Promise.resolve()),
    };
  }, [session, exit, suspendTerminal]);

  if (composer.size.columns !== columns || composer.size.rows !== height) {
    composer.size = { columns, rows: height };
  }
  const frame = composer.frame();
  return (
    <Box flexDirection="column" width={columns} height={height}>
      {rows(frame.header, "h")}
      {rows(frame.body, "b")}
      {frame.table ? <MetricTable data={frame.table} /> : null}
      {rows(frame.below, "w")}
      {rows(frame.footer, "f")}
    </Box>
  );
}
