/** Runs a program in a real pseudo terminal and reads its screen as a terminal shows it. */
import { spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";

/** How a program is started. */
export interface TerminalOptions {
  readonly columns: number;
  readonly rows: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** What stands in one cell, and how. */
export interface Cell {
  readonly text: string;
  /** Number of a colour; the terminal's own when left out. */
  readonly foreground?: number;
  readonly background?: number;
  readonly bold: boolean;
  readonly dim: boolean;
  readonly inverse: boolean;
  readonly underline: boolean;
}

/** A program in a terminal. */
export class TestTerminal {
  readonly #pty;
  readonly #screen;
  /** Called after each piece of output is on the screen, with the time at which it came. */
  #drawn: (at: number) => void = () => {};
  /** All that it wrote. */
  output = "";
  readonly exited: Promise<{ exitCode: number; signal?: number | undefined }>;

  constructor(command: string, args: readonly string[], options: TerminalOptions) {
    const { columns: cols, rows } = options;
    const env: Record<string, string | undefined> = { ...process.env, ...options.env };
    // Any value of CI, the empty one too, makes libraries believe that nobody looks.
    delete env.CI;
    if (options.env?.NO_COLOR === undefined) delete env.NO_COLOR;
    this.#pty = spawn(command, [...args], { cols, rows, name: "xterm-256color", env });
    this.#screen = new xterm.Terminal({ cols, rows, allowProposedApi: true, scrollback: 1000 });
    this.#pty.onData((data) => {
      const at = performance.now();
      this.output += data;
      this.#screen.write(data, () => this.#drawn(at));
    });
    this.exited = new Promise((resolve) => {
      this.#pty.onExit(({ exitCode, signal }) => resolve({ exitCode, signal }));
    });
  }

  /** Types. */
  type(keys: string): void {
    this.#pty.write(keys);
  }

  /**
   * Types; resolves to the milliseconds until the bytes came that made a condition of the screen
   * true, or to undefined when they did not within a second.
   */
  async answer(keys: string, condition: () => boolean): Promise<number | undefined> {
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    const timer = setTimeout(() => resolve(undefined), 1000);
    const start = performance.now();
    this.#drawn = (at) => {
      if (at > start && condition()) resolve(at - start);
    };
    this.type(keys);
    const milliseconds = await promise;
    clearTimeout(timer);
    this.#drawn = () => {};
    return milliseconds;
  }

  /** The characters that the rows of the screen begin with. */
  firstColumn(): string[] {
    const { active } = this.#screen.buffer;
    return Array.from(
      { length: this.#screen.rows },
      (_, i) =>
        active
          .getLine(active.baseY + i)
          ?.getCell(0)
          ?.getChars() ?? "",
    );
  }

  resize(columns: number, rows: number): void {
    this.#pty.resize(columns, rows);
    this.#screen.resize(columns, rows);
  }

  kill(signal: string): void {
    this.#pty.kill(signal);
  }

  get pid(): number {
    return this.#pty.pid;
  }

  /** Lines of the screen, without spaces at their ends. */
  async lines(): Promise<string[]> {
    // Writing is asynchronous: an empty write comes after all that came before.
    await new Promise<void>((resolve) => this.#screen.write("", resolve));
    const { active } = this.#screen.buffer;
    return Array.from({ length: this.#screen.rows }, (_, i) =>
      (active.getLine(active.baseY + i)?.translateToString(true) ?? "").trimEnd(),
    );
  }

  /** All cells, line by line. */
  async cells(): Promise<Cell[][]> {
    await this.lines();
    const { active } = this.#screen.buffer;
    return Array.from({ length: this.#screen.rows }, (_, row) => {
      const line = active.getLine(active.baseY + row);
      return Array.from({ length: this.#screen.cols }, (__, column): Cell => {
        const cell = line?.getCell(column);
        return {
          text: cell?.getChars() || " ",
          ...(cell?.isFgPalette() ? { foreground: cell.getFgColor() } : {}),
          ...(cell?.isBgPalette() ? { background: cell.getBgColor() } : {}),
          bold: Boolean(cell?.isBold()),
          dim: Boolean(cell?.isDim()),
          inverse: Boolean(cell?.isInverse()),
          underline: Boolean(cell?.isUnderline()),
        };
      });
    });
  }

  async text(): Promise<string> {
    return (await this.lines()).join("\n");
  }

  /** Which buffer is shown. */
  get buffer(): "normal" | "alternate" {
    return this.#screen.buffer.active.type;
  }

  /** Waits until the screen fulfils a condition; says what was there when it does not. */
  async until(
    condition: (text: string) => boolean,
    what: string,
    milliseconds = 8000,
  ): Promise<string> {
    const end = Date.now() + milliseconds;
    for (;;) {
      const text = await this.text();
      if (condition(text)) return text;
      if (Date.now() > end) throw new Error(`never came: ${what}\n${text}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Waits until the screen shows a text. */
  shows(text: string): Promise<string> {
    return this.until((screen) => screen.includes(text), `"${text}"`);
  }
}
