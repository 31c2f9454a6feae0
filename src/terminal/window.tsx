/** The window: Ink gives it the keys, lays out the lines that it is told to show, and hands the terminal back. */
import { render, Transform, useApp, useInput, usePaste } from "ink";
import { type ReactElement, useEffect, useSyncExternalStore } from "react";
import { makeFrameStream } from "./frame-stream.ts";
import { InputFilter, makeInputStream, type Rgb } from "./input-stream.ts";
import { keyNames } from "./keys.ts";
import { stopProcess } from "./process.ts";
import { type Size, sizeOf } from "./size.ts";
import { throttled } from "./throttled.ts";

/** What the terminal can be asked for while a window is open. */
export interface TerminalActions {
  /** Closes the window. */
  quit(): void;
  /** Hands the terminal to the shell until it brings the program back. */
  suspend(): void;
  /** Draws everything again. */
  redraw(): void;
}

/** Says what a window shows, and takes its keys. */
export interface WindowContent {
  /**
   * The picture of now, a clean line of at most `columns` cells for each row. As long as nothing
   * changes it is the same array.
   */
  frame(size: Size): readonly string[];
  /** Calls `listener` after each change; the function returned ends that. */
  subscribe(listener: () => void): () => void;
  /** Takes one key by its name. */
  key(name: string): void;
  /** Takes a text that was pasted, where the terminal tells that from typed keys. */
  paste(text: string): void;
  /** Gets what the terminal can be asked for, once the window is open. */
  attach(actions: TerminalActions): void;
}

/** How a window is opened. */
export interface WindowOptions {
  readonly plainInk?: boolean | undefined;
  /** Is told the colour behind the terminal's text, where it tells that. */
  readonly onBackground?: (colour: Rgb) => void;
}

/** OSC 11 with a question mark, see "Operating System Commands" of xterm's ctlseqs. */
const ASK_BACKGROUND = "\u001b]11;?\u0007";

/** An open window. */
export interface OpenWindow {
  close(): void;
  /** Resolves when it is closed and the terminal is as it was. */
  readonly closed: Promise<unknown>;
}

/** The window is drawn at most so often, ms: what comes faster is drawn together. */
const FRAME_MS = 8;

/** The frame of a window of some width. */
interface Picture {
  readonly lines: readonly string[];
  readonly columns: number;
}

/** What React asks for the picture of now. Frames are made outside of it, when something changed. */
interface PictureStore {
  readonly picture: () => Picture;
  readonly subscribe: (listener: () => void) => () => void;
}

function makeStore(content: WindowContent, stdout: NodeJS.WriteStream): PictureStore {
  const draw = (): Picture => {
    const size = sizeOf(stdout);
    return { columns: size.columns, lines: content.frame(size) };
  };
  let picture = draw();
  return {
    picture: () => picture,
    subscribe: (listener) => {
      const redraw = (): void => {
        const next = draw();
        if (next.lines === picture.lines && next.columns === picture.columns) return;
        picture = next;
        listener();
      };
      const changed = throttled(redraw, FRAME_MS);
      const unsubscribe = content.subscribe(changed);
      stdout.on("resize", redraw);
      changed();
      return () => {
        unsubscribe();
        stdout.off("resize", redraw);
      };
    },
  };
}

/** What Ink is to lay out for a line that was made for a width. */
type Laid = (line: string, columns: number) => string;

interface AppProps {
  readonly input: InputFilter;
  /** Asks the terminal for the colour behind its text. */
  readonly ask: () => void;
  readonly content: WindowContent;
  readonly store: PictureStore;
  readonly laid: Laid;
}

/** The only component. Its text has a blank for each line, which the line takes the place of. */
function App({ content, store, laid, input, ask }: AppProps): ReactElement {
  const { exit, suspendTerminal } = useApp();
  const { lines, columns } = useSyncExternalStore(store.subscribe, store.picture);
  useInput((text, key) => {
    for (const name of keyNames(text, key)) content.key(name);
  });
  usePaste((text) => content.paste(text));
  useEffect(() => {
    // Both are refused while the terminal is handed over already: then there is nothing to do.
    const handOver = (during: () => Promise<void>): void => {
      suspendTerminal(during).catch(() => {});
    };
    const redraw = (): void => handOver(() => Promise.resolve());
    content.attach({
      // An answer that comes later would be typed into the shell.
      quit: () => void input.answered().then(() => exit("quit")),
      suspend: () => handOver(stopProcess),
      redraw,
    });
    // Whoever stopped the process from outside, the shell has given the terminal modes of its own meanwhile.
    process.on("SIGCONT", redraw);
    // By now keys are not echoed, nor would the answer be.
    ask();
    return () => void process.off("SIGCONT", redraw);
  }, [content, exit, suspendTerminal, input, ask]);
  return (
    <Transform
      transform={(_, i) => laid(lines[i] ?? "", columns)}
      accessibilityLabel={lines.filter((line) => line !== "").join("\n")}
    >
      {lines.map(() => " ").join("\n")}
    </Transform>
  );
}

/**
 * Opens a window on a terminal. With `plainInk` Ink draws by itself: for a screen reader, and to
 * compare with what is drawn otherwise.
 */
export function openWindow(
  content: WindowContent,
  { stdin, stdout }: { readonly stdin: NodeJS.ReadStream; readonly stdout: NodeJS.WriteStream },
  { plainInk = process.env.INK_SCREEN_READER === "true", onBackground }: WindowOptions = {},
): OpenWindow {
  const filter = new InputFilter((colour) => onBackground?.(colour));
  const ask = (): void => {
    if (!onBackground || plainInk) return;
    filter.expect();
    stdout.write(ASK_BACKGROUND);
  };
  const options = {
    stdin: makeInputStream(stdin, filter),
    alternateScreen: true,
    interactive: true,
    exitOnCtrlC: false,
    patchConsole: false,
  } as const;
  const app = (laid: Laid): ReactElement => (
    <App
      content={content}
      store={makeStore(content, stdout)}
      laid={laid}
      input={filter}
      ask={ask}
    />
  );
  const open = (): ReturnType<typeof render> => {
    if (!plainInk) {
      const { stream, tokenFor } = makeFrameStream(stdout);
      return render(app(tokenFor), { ...options, stdout: stream, debug: true });
    }
    // In a window that is narrower by now nothing is drawn: the next frame is made for it.
    const clipped: Laid = (line, columns) => (sizeOf(stdout).columns < columns ? "" : line);
    return render(app(clipped), { ...options, stdout, incrementalRendering: true });
  };
  const ink = open();
  return { close: () => ink.unmount(), closed: ink.waitUntilExit() };
}
