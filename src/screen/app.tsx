/** The live screen: Ink draws the lines that pure functions made. */
import { Box, Text, Transform, useApp, useInput, useStdout, useWindowSize } from "ink";
import { Table } from "ink-table";
import { memo, type ReactElement, type ReactNode, useEffect, useSyncExternalStore } from "react";
import { composeFrame, type Frame, type FrameTools, type Size } from "./frame.ts";
import { keyNames } from "./keys.ts";
import type { HealthRow } from "./metrics.ts";
import type { Session } from "./session.ts";
import { stopProcess } from "./terminal.ts";

/**
 * One line of the window, made for a width. Its text is put in when Ink has laid out, cleaned and
 * measured what stands for it, one cell: our lines are clean and of known width, and doing that
 * again for each was most of a refresh. In a window that is narrower by now nothing is drawn: the
 * next frame is made for it.
 */
const Row = memo(function Row({ text, columns }: { text: string; columns: number }): ReactElement {
  const { stdout } = useStdout();
  const put = (): string => ("columns" in stdout && Number(stdout.columns) < columns ? "" : text);
  return (
    <Transform transform={put} accessibilityLabel={text}>
      {" "}
    </Transform>
  );
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
const rows = (lines: readonly string[], part: string, columns: number): ReactElement[] => {
  const keys = Array.from(lines, (_, i) => `${part}${i}`);
  return keys.map((key, i) => <Row key={key} text={lines[i] ?? ""} columns={columns} />);
};

const HealthTable = memo(function HealthTable({
  data,
}: {
  data: readonly HealthRow[];
}): ReactElement {
  return <Table data={[...data]} cell={TableCell} header={TableHeading} skeleton={NoSkeleton} />;
});

/** When there is more to work out, it is drawn again after so long. */
const LATER_MS = 50;

/** Composes each frame once, however often it is asked for. */
export class Composer {
  readonly #session: Session;
  readonly #tools: FrameTools;
  #made: { version: number; size: Size; frame: Frame } | undefined;
  #timer: NodeJS.Timeout | undefined;
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
    this.#session.looks.pending = false;
    const frame = composeFrame(this.#session, size, this.#tools);
    this.#made = { version, size, frame };
    if (this.#session.looks.pending) this.#later();
    return frame;
  }

  /** Old ticks are worked out between keys, not before them. */
  #later(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#session.changed();
    }, LATER_MS);
    this.#timer.unref();
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
      {rows(frame.header, "h", columns)}
      {frame.table ? <HealthTable data={frame.table} /> : null}
      {rows(frame.body, "b", columns)}
      {rows(frame.footer, "f", columns)}
    </Box>
  );
}
