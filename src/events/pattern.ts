/** Names of functions as people write them: a name, a glob, a /regular expression/. */
import { UsageError } from "../tick/errors.ts";

/** Says whether a name is meant. */
export type Matches = (name: string) => boolean;

/** Whether a text stands for many names. */
export const isGlob = (text: string): boolean => /[*?[]/.test(text) && !text.includes("operator");

/** Whether a text is a /regular expression/. */
export const isRegex = (text: string): boolean => /^\/.+\/$/s.test(text);

/** A glob as a regular expression: `*` any letters, `?` one, `[ab]` one of these. */
function globSource(glob: string): string {
  return glob.replace(/\[[^\]]+\]|[\s\S]/g, (part) => {
    if (part === "*") return ".*";
    if (part === "?") return ".";
    if (part.length > 1) return part.replace(/^\[!/, "[^").replaceAll("\\", "\\\\");
    return part.replace(/[\\^$.|+()[\]{}]/g, "\\$&");
  });
}

/** Says which names a pattern stands for. Throws a UsageError where it is no regular expression. */
export function matcher(pattern: string): Matches {
  if (!isRegex(pattern) && !isGlob(pattern)) return (name) => name === pattern;
  const source = isRegex(pattern) ? pattern.slice(1, -1) : `^${globSource(pattern)}$`;
  try {
    const expression = new RegExp(source, "s");
    return (name) => expression.test(name);
  } catch {
    throw new UsageError(`${pattern} is no regular expression`);
  }
}
