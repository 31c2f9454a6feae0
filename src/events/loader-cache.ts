/** Where the files are in which a function without a path is looked for. */
import { readdirSync, realpathSync, statSync } from "node:fs";
import { livingFolder } from "../machine/process.ts";
import { readLink, readText } from "../machine/read-text.ts";

/** Folders of libraries that the loader knows without being told; distributions add theirs in /etc/ld.so.conf. */
const LIBRARY_FOLDERS = ["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"];

const linesOf = (path: string): string[] => readText(path)?.split("\n") ?? [];

const filesIn = (folder: string): string[] => {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
};

/** Where libraries are: what /etc/ld.so.conf.d says, and what the loader knows. */
export function libraryFolders(): string[] {
  const told = filesIn("/etc/ld.so.conf.d").flatMap((name) => linesOf(`/etc/ld.so.conf.d/${name}`));
  const folders = [...told.map((line) => line.trim()), ...LIBRARY_FOLDERS];
  return folders.filter((line) => line.startsWith("/"));
}

/** Whether a path leads to a regular file. */
export const isFile = (path: string): boolean => {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
};

/** Whether a library is meant by a word: `c` and `libc` mean libc.so.6. */
export function isNamed(name: string, word: string): boolean {
  const base = word.startsWith("lib") ? word : `lib${word}`;
  return name === word || name.startsWith(`${word}.so`) || name.startsWith(`${base}.so`);
}

/** The program that a command line means by its first word: a path, or a name that is looked for in PATH. */
export function findProgram(word: string): string | undefined {
  if (word.includes("/")) return isFile(word) ? realpathSync(word) : undefined;
  const programs = (process.env.PATH ?? "").split(":").map((folder) => `${folder}/${word}`);
  const program = word === "" ? undefined : programs.find(isFile);
  return program && realpathSync(program);
}

/** The file that a word means: a path, a library by its short name, or a program of PATH. Undefined where there is none. */
export function findFile(word: string): string | undefined {
  if (word.includes("/")) return isFile(word) ? realpathSync(word) : undefined;
  for (const folder of libraryFolders()) {
    const found = filesIn(folder)
      .filter((name) => isNamed(name, word))
      .sort();
    // The name that programs are linked with has a number behind it.
    const best = found.find((name) => /\.so\.\d+$/.test(name)) ?? found[0];
    if (best && isFile(`${folder}/${best}`)) return realpathSync(`${folder}/${best}`);
  }
  return findProgram(word);
}

/** A line of /proc/PID/maps: access, inode and path. */
const MAPPING = /^\S+ (?<access>\S+) \S+ \S+ (?<inode>\d+)\s+(?<path>\/.*)$/;

/** What stands before the paths of the process with that folder, if its root or mounts are others than those of this one. */
function rootOf(process: string): string {
  const hasOurs = ["root", "ns/mnt"].every(
    (name) => readLink(`${process}/${name}`) === readLink(`/proc/self/${name}`),
  );
  return hasOurs ? "" : `${process}/root`;
}

/** Files that a process has mapped to execute them, by paths that lead to them from here. */
export function mappedFiles(pid: number): string[] {
  const process = livingFolder(pid);
  const root = rootOf(process);
  const paths = linesOf(`${process}/maps`).flatMap((line) => {
    const { access = "", inode, path } = MAPPING.exec(line)?.groups ?? {};
    return path && access.includes("x") && inode !== "0" ? [root + path] : [];
  });
  return [...new Set(paths)].filter(isFile);
}

/** The libraries that nearly every program has: where a function is looked for that nobody says the file of. */
export const COMMON_LIBRARIES: readonly string[] = ["libc", "libpthread", "libm", "libstdc++"];
