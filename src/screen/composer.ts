/** Makes the content of the window: each frame is composed once, however often it is asked for. */
import type { Size } from "../terminal/size.ts";
import type { TerminalActions, WindowContent } from "../terminal/window.tsx";
import { composeFrame, type Frame, type FrameTools } from "./frame.ts";
import type { Session } from "./state/session.ts";
import type { Theme } from "./theme.ts";

/** When there is more to work out, the window is drawn again after so long, ms. */
const LATER_MS = 50;

/** Composes what a session shows, and gives it the keys. */
export class Composer implements WindowContent {
  readonly #session: Session;
  #tools: FrameTools;
  #made: { version: number; size: Size; frame: Frame; lines: readonly string[] } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #size: Size = { columns: 80, rows: 24 };

  constructor(session: Session, tools: FrameTools) {
    this.#session = session;
    this.#tools = tools;
    session.shape = () => this.#compose().frame.shape;
  }

  /** Paints with another theme from now on. */
  paint(theme: Theme): void {
    this.#tools = { ...this.#tools, theme };
    this.#session.changed();
  }

  frame({ columns, rows }: Size): readonly string[] {
    if (columns !== this.#size.columns || rows !== this.#size.rows) this.#size = { columns, rows };
    return this.#compose().lines;
  }

  #compose(): { readonly frame: Frame; readonly lines: readonly string[] } {
    const version = this.#session.version();
    const size = this.#size;
    if (this.#made?.version === version && this.#made.size === size) return this.#made;
    this.#session.selectors.pending = false;
    const frame = composeFrame(this.#session, size, this.#tools);
    const lines = [...frame.header, ...frame.body, ...frame.footer];
    this.#made = { version, size, frame, lines };
    this.#session.settle(frame.shape.selected);
    if (this.#session.selectors.pending) this.#drawLater();
    return this.#made;
  }

  subscribe(listener: () => void): () => void {
    return this.#session.subscribe(listener);
  }

  key(name: string): void {
    this.#session.key(name);
  }

  paste(text: string): void {
    this.#session.paste(text);
  }

  attach(actions: TerminalActions): void {
    this.#session.terminal = actions;
  }

  /** Old ticks are worked out between keys, not before them. */
  #drawLater(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#session.changed();
    }, LATER_MS);
    this.#timer.unref();
  }
}
