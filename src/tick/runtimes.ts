/**
 * The runtimes that polytop tells apart. Every list of runtimes in src/ is made from the rows of this table: a new
 * runtime is a row here, and its reader in src/runtimes/registry.ts.
 */

/** How the command line of an interpreter leads to what it runs. Names of options are as its manual page has them. */
export interface CommandLine {
  /** Matches the name of its program. */
  readonly program: RegExp;
  /** Options that have their value in the next word. */
  readonly valued: RegExp;
  /** Options behind which the next word is what runs: it is shown with the option. */
  readonly names?: RegExp;
  /** Options behind which a program stands as text: the option alone is shown. */
  readonly inline?: RegExp;
}

/** What the rest of polytop must know of a runtime; its key is its name in JSON and in bpf/counters.json. */
export interface RuntimeRow {
  /** What prose calls it. */
  readonly title: string;
  /** What the screen and the text call it, in at most six characters. */
  readonly label: string;
  /** Its colour on a dark and on a light screen, of the 256 of xterm: those from 16 on look the same everywhere. */
  readonly onDark: number;
  readonly onLight: number;
  /** The number that recordings write for it, below RUNTIME_NUMBERS. It is never given to another runtime. */
  readonly number: number;
  /** Whether a process is said to hold it for any frame of its stacks; otherwise only for innermost frames. */
  readonly isManaged: boolean;
  /** Whether native code that its functions called counts as theirs: it is below what somebody wrote. */
  readonly ownsNative?: boolean;
  /** Names, without directory and version, of the files that the runtime itself is made of. */
  readonly files?: RegExp;
  readonly commandLine?: CommandLine;
}

/** The order of the rows is the order in which runtimes are listed. */
const ROWS = {
  perl: {
    title: "Perl",
    label: "perl",
    onDark: 80,
    onLight: 23,
    number: 0,
    isManaged: true,
    ownsNative: true,
    files: /^(perl|libperl(-[\d.]+)?\.so.*)$/,
    commandLine: { program: /^perl[\d.]*$/, valued: /^-I$/, inline: /^-[A-Za-z0-9]*[eE]$/ },
  },
  dotnet: {
    title: ".NET",
    label: ".net",
    onDark: 213,
    onLight: 90,
    number: 1,
    isManaged: true,
    files:
      /^(dotnet|(libcoreclr|libclrjit|libclrgc|libhostpolicy|libhostfxr|libSystem\.[\w.]+)(-[\d.]+)?\.so.*)$/,
    commandLine: {
      program: /^dotnet$/,
      valued:
        /^--(depsfile|runtimeconfig|fx-version|roll-forward|additionalprobingpath|additional-deps)$/,
    },
  },
  python: {
    title: "Python",
    label: "python",
    onDark: 111,
    onLight: 19,
    number: 4,
    isManaged: true,
    ownsNative: true,
    files: /^(python[\d.]*|libpython[\d.]+(-[\d.]+)?\.so.*)$/,
    commandLine: {
      program: /^python[\d.]*t?$|^pypy[\d.]*$/,
      valued: /^(-[WX]|--check-hash-based-pycs)$/,
      names: /^-[A-Za-z]*m$/,
      inline: /^-[A-Za-z]*c$/,
    },
  },
  javascript: {
    title: "JavaScript",
    label: "js",
    onDark: 221,
    onLight: 94,
    number: 5,
    isManaged: true,
    ownsNative: true,
    files: /^libuv(-[\d.]+)?\.so/,
    commandLine: {
      program: /^(node|nodejs|bun|deno)$/,
      valued: /^(-[rC]|--(require|import|loader|experimental-loader|conditions|env-file))$/,
      inline: /^(-[ep]|-pe|--eval|--print)$/,
    },
  },
  native: {
    title: "Native",
    label: "native",
    onDark: 114,
    onLight: 22,
    number: 2,
    isManaged: false,
    // The C library, the loader, and the library of C++.
    files:
      /^((libc|libpthread|librt|libm|libdl|libgcc_s|libstdc\+\+|libc\+\+|ld-linux[-\w]*|ld-musl[-\w]*)(-[\d.]+)?\.so|(ld-linux[-\w]*|ld-musl[-\w]*|\[vdso\])$)/,
  },
  kernel: {
    title: "Kernel",
    label: "kernel",
    onDark: 210,
    onLight: 124,
    number: 3,
    isManaged: false,
  },
  // The runtimes of a newer polytop, in a recording that it made.
  unknown: {
    title: "Other",
    label: "other",
    onDark: 180,
    onLight: 58,
    number: 127,
    isManaged: true,
  },
} as const satisfies Readonly<Record<string, RuntimeRow>>;

/** Where a function's code comes from. */
export type Runtime = keyof typeof ROWS;

export const RUNTIME_ROWS: Readonly<Record<Runtime, RuntimeRow>> = ROWS;

/** All values of `Runtime`, `unknown` last. The place of a runtime is its index here. */
export const EVERY_RUNTIME: readonly Runtime[] = Object.keys(ROWS).filter(isRuntime);

/** The runtimes that are always listed: all but `unknown`, which is listed where it was met. */
export const RUNTIMES: readonly Runtime[] = EVERY_RUNTIME.filter((it) => it !== "unknown");

function isRuntime(id: string): id is Runtime {
  return Object.hasOwn(ROWS, id);
}

/** A value for each runtime, made from its row and its place. */
export function byRuntime<T>(make: (row: RuntimeRow, place: number) => T): Record<Runtime, T> {
  const values = EVERY_RUNTIME.map((id, place) => [id, make(ROWS[id], place)]);
  return Object.fromEntries(values) as Record<Runtime, T>;
}

/** The place of each runtime in `EVERY_RUNTIME`. */
export const PLACES: Readonly<Record<Runtime, number>> = byRuntime((_row, place) => place);

/** The bit of each runtime in a set of runtimes: 1 << place. */
export const BITS: Readonly<Record<Runtime, number>> = byRuntime((_row, place) => 1 << place);

const RUNTIME_FILES = EVERY_RUNTIME.flatMap((id) => RUNTIME_ROWS[id].files ?? []);

/** Whether a language runtime is made of this file, by its name. */
export const isRuntimeFile = (name: string): boolean =>
  RUNTIME_FILES.some((files) => files.test(name));

/** The bits of the managed runtimes. */
export const MANAGED_BITS = EVERY_RUNTIME.filter((id) => ROWS[id].isManaged).reduce(
  (bits, id) => bits | BITS[id],
  0,
);

/** The runtimes of a set of bits, in the order of lists. */
export const bitsToRuntimes = (bits: number): Runtime[] =>
  EVERY_RUNTIME.filter((id) => (bits & BITS[id]) !== 0);

/** The runtimes to list when each has an amount: all that are known, and `unknown` if it has any. */
export const listed = (amounts: Readonly<Record<Runtime, number>>): readonly Runtime[] =>
  amounts.unknown > 0 ? EVERY_RUNTIME : RUNTIMES;

/** The end of the numbers that recordings may write: each is one byte. */
export const RUNTIME_NUMBERS = 128;

/** The runtime that recordings write a number for; `unknown` for the number of a newer polytop. */
export const runtimeOfNumber = (number: number): Runtime =>
  EVERY_RUNTIME.find((id) => ROWS[id].number === number) ?? "unknown";

/** The runtime that somebody asked for by its name or its label in any case; undefined if there is none. */
export function runtimeNamed(word: string): Runtime | undefined {
  const wanted = word.toLowerCase();
  return EVERY_RUNTIME.find((id) => id === wanted || ROWS[id].label === wanted);
}
