/** What a process was started as: its program, and the script, module or archive that an interpreter runs. */
import { type CommandLine, EVERY_RUNTIME, RUNTIME_ROWS } from "../tick/runtimes.ts";
import { livingFolder } from "./process.ts";
import { readStart } from "./read-text.ts";

/** So many bytes of a command line are read: a process may have one of megabytes. */
const MOST_BYTES = 4096;

/** Those of programs whose functions polytop does not tell apart. */
const OTHERS: readonly CommandLine[] = [
  { program: /^ruby[\d.]*$/, valued: /^-[ICr]$/, inline: /^-[a-z]*e$/ },
  { program: /^php[\d.]*$/, valued: /^-[dcz]$/, names: /^(-f|--file)$/, inline: /^(-r|--run)$/ },
  {
    program: /^(ba|da|z|k|mk|a)?sh$/,
    valued: /^([-+][oO]|--(rcfile|init-file))$/,
    inline: /^-[A-Za-z]*c$/,
  },
  {
    program: /^java$/,
    valued:
      /^(-cp|-classpath|--class-path|-p|--module-path|--upgrade-module-path|--add-(modules|opens|exports|reads)|--patch-module)$/,
    names: /^(-jar|-m|--module)$/,
  },
];

const INTERPRETERS: readonly CommandLine[] = [
  ...EVERY_RUNTIME.flatMap((runtime) => RUNTIME_ROWS[runtime].commandLine ?? []),
  ...OTHERS,
];

const baseName = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/**
 * The words of a command line that say which program runs: the program itself and, of an interpreter, what it was given
 * to run. Arguments behind these are left out, since they may be secrets, and so is a program that stands there as text.
 */
export function programWords(words: readonly string[]): string[] {
  const [program = "", ...rest] = words;
  const name = baseName(program).replace(/^-/, "");
  const interpreter = INTERPRETERS.find((one) => one.program.test(name));
  if (!interpreter) return words.slice(0, 1);
  for (let at = 0; at < rest.length; at++) {
    const word = rest[at] ?? "";
    if (interpreter.inline?.test(word)) return [program, word];
    if (interpreter.names?.test(word)) return [program, ...rest.slice(at, at + 2)];
    if (interpreter.valued.test(word)) at++;
    else if (word === "-" || !/^[-+@]/.test(word)) return [program, word];
  }
  return [program];
}

/**
 * The words of a process's command line, by proc_pid_cmdline(5). What is cut off at 4,096 bytes lacks words, and a
 * kernel thread and a process that has ended have none. Undefined where there is no such process.
 */
export function readCommandLine(pid: number, proc = "/proc"): string[] | undefined {
  const bytes = readStart(`${livingFolder(pid, proc)}/cmdline`, MOST_BYTES);
  if (bytes === undefined) return undefined;
  // One character stands for each byte.
  const text = Buffer.from(bytes, "latin1").toString("utf8").replace(/\0+$/, "");
  return text === "" ? [] : text.split("\0");
}

/** Words as one text, as a shell would take them. */
export const joinWords = (words: readonly string[]): string =>
  words
    .map((word) => (/^[^\s'"\\]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`))
    .join(" ");
