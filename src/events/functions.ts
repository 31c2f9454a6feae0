/** Functions of programs and libraries: where they are. */

import { CHOICE_NOT_LOADED, EVENT_FUNCTION, EVENT_RETURN } from "../../build/abi.ts";
import type { Addon } from "../addon/binding.ts";
import type { ResolvedEvent } from "../addon/events.ts";
import type { EventRequest } from "../tick/event-request.ts";
import { didYouMean } from "./closest.ts";
import { isGlob, isRegex, matcher } from "./pattern.ts";
import {
  cannot,
  checkUprobes,
  eachFile,
  filesFor,
  filesInWords,
  placesByFile,
  type SearchContext,
} from "./probed-files.ts";

/** Names in a notice. */
const NAMED = 5;

/** A function that was found. */
export interface FoundFunction {
  readonly path: string;
  /** As people write it. */
  readonly name: string;
  /** As the symbol table has it, without its version. */
  readonly symbol: string;
  /** The version of the symbol; empty where it has none. */
  readonly version: string;
  /** Only programs that were linked long ago call it. */
  readonly isOld: boolean;
  /** Where it is in the file; for a chooser what it chose here, or one of the CHOICE_ constants of bpf/event/abi.h. */
  readonly offset: number;
  /** It runs once, and says which function is meant by its name (ifunc). */
  readonly isChooser: boolean;
}

const isMany = (pattern: string): boolean => isGlob(pattern) || isRegex(pattern);

/** The name under which `-e` takes this function and no other. */
export const exactName = ({ name, version, isOld }: FoundFunction): string =>
  isOld ? `${name}@${version}` : name;

function* rowsOf(
  path: string,
  addon: Addon,
  isWritten = false,
): Generator<FoundFunction & { readonly written: string; readonly parameters: string }> {
  const columns = addon.listFunctions(path, isWritten);
  const { names, written, parameters, versions, offsets, olds, choosers, chosen } = columns;
  let choices = 0;
  for (const [place, symbol] of names.entries()) {
    const isChooser = choosers[place] === 1;
    const offset = isChooser ? chosen[choices++] : offsets[place];
    yield {
      path,
      name: symbol,
      symbol,
      written: written[place] ?? "",
      parameters: parameters[place] ?? "",
      version: versions[place] ?? "",
      isOld: olds[place] === 1,
      offset: offset ?? CHOICE_NOT_LOADED,
      isChooser,
    };
  }
}

/**
 * The functions of a file that a pattern stands for, by their raw names or by those that people write. A name with
 * `@VERSION` behind it is of that version alone.
 */
export function functionsIn(path: string, pattern: string, addon: Addon): FoundFunction[] {
  const rows = [...rowsOf(path, addon)];
  const matches = matcher(pattern);
  const matchesVersion = (row: FoundFunction): boolean =>
    row.version !== "" && matches(`${row.symbol}@${row.version}`);
  const raw = rows.filter((row) => matches(row.symbol) || matchesVersion(row));
  if (raw.length > 0 && !isMany(pattern)) return raw;
  const matchesWhole = matcher(joined(pattern));
  const found = [...rowsOf(path, addon, true)].flatMap(({ written: name, parameters, ...row }) => {
    if (name === row.symbol) return [];
    const isMeant = matches(name) || matches(name.replace(/\(.*$/s, ""));
    const isWhole = parameters !== "" && matchesWhole(joined(name + parameters));
    return isMeant || isWhole ? [{ ...row, name }] : [];
  });
  return [...raw, ...found];
}

/** A C++ name as newer tools write it: `A<B<int>>`, not `A<B<int> >`. */
const joined = (name: string): string => name.replace(/> (?=>)/g, ">");

/** What a name means: the function that programs get which are linked now, where there are older ones too. */
function meantOf(found: readonly FoundFunction[], pattern: string): readonly FoundFunction[] {
  if (isMany(pattern)) return found;
  const current = found.filter((one) => !one.isOld);
  return current.length > 0 ? current : found;
}

/** Finds the functions of programs that are asked for. Throws a UserError where there are none, or too many. */
export function resolveFunction(
  { text, file, pattern, isReturn }: EventRequest & { kind: "function" },
  context: SearchContext,
): ResolvedEvent {
  checkUprobes(text);
  const files = filesFor(file, context, text);
  const found = eachFile(files, text, (path) => functionsIn(path, pattern, context.addon));
  if (found.length === 0) throw cannot(whyNone(text, pattern, files, context.addon));
  const meant = meantOf(found, pattern);
  const known = meant.filter(({ offset }) => offset >= 0);
  if (known.length === 0) throw cannot(whyUnknown(text, meant, found, context.addon));
  const probed = placesByFile(text, known, context.addon);
  const notice = noticeOf(text, { found, meant, known }, context.addon);
  return {
    name: text,
    unit: "events",
    setup: {
      name: text,
      kind: isReturn ? EVENT_RETURN : EVENT_FUNCTION,
      files: probed,
    },
    ...(notice ? { notice } : {}),
  };
}

interface Meant {
  readonly found: readonly FoundFunction[];
  readonly meant: readonly FoundFunction[];
  readonly known: readonly FoundFunction[];
}

/** What a reader must know to take the counts for what they are. */
function noticeOf(text: string, { found, meant, known }: Meant, addon: Addon): string {
  const places = new Set(known.map(({ path, offset }) => `${path}:${offset}`)).size;
  const left = meant.filter(({ offset }) => offset < 0);
  const others = found.filter((one) => !meant.includes(one));
  const chosen = known.filter(({ isChooser }) => isChooser);
  const [first] = chosen;
  const parts = [
    places > 1 ? `${places} functions: ${someOf(known)}` : "",
    first
      ? `the C library chooses at the start of a program what ${someOf(chosen)} is; probed is what it chooses on this processor`
      : "",
    first && chosen.length === 1 ? sharedWith(first, addon) : "",
    left.length > 0 ? `left out, as what they choose is not known: ${someOf(left)}` : "",
    others.length > 0 ? `not of older versions: ${someOf(others)}` : "",
  ].filter((part) => part !== "");
  return parts.length > 0 ? `${text}: ${parts.join("; ")}` : "";
}

/** Names that lead to the same place as the choice for another one. */
function sharedWith(chosen: FoundFunction, addon: Addon): string {
  const same = [...rowsOf(chosen.path, addon)].filter(
    ({ offset, symbol }) => offset === chosen.offset && symbol !== chosen.symbol,
  );
  return same.length > 0
    ? `${someOf(same)} are the same function: their calls are counted too`
    : "";
}

function someOf(found: readonly FoundFunction[]): string {
  const names = [...new Set(found.map(exactName))];
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : "";
  return `${names.slice(0, NAMED).join(", ")}${more}`;
}

/** Why nothing can be probed of functions that are chosen when a program starts. */
function whyUnknown(
  text: string,
  meant: readonly FoundFunction[],
  found: readonly FoundFunction[],
  addon: Addon,
): string {
  const [{ path = "", symbol = "", offset = CHOICE_NOT_LOADED } = {}] = meant;
  const why =
    offset === CHOICE_NOT_LOADED
      ? "which one is not known for this file"
      : "it is in no file that a probe could reach (the vDSO)";
  const variants = [...rowsOf(path, addon)].filter(
    (one) => one.symbol.startsWith(`__${symbol}_`) && !one.isChooser,
  );
  const older = found.filter((one) => one.isOld && one.offset >= 0);
  const hints = [
    ...(variants.length > 0 ? [`those it chooses from: uprobe:${path}:__${symbol}_*`] : []),
    ...older.map((one) => `an older version: uprobe:${path}:${exactName(one)}`),
  ];
  return `${text}: which function ${symbol} is gets chosen when a program starts (ifunc), and ${why}${
    hints.length > 0 ? `\nWhat can be probed: ${hints.join("; ")}` : ""
  }`;
}

function whyNone(text: string, pattern: string, files: readonly string[], addon: Addon): string {
  const where = filesInWords(files);
  if (isMany(pattern)) return `${text}: no function of ${where} matches`;
  const names = eachFile(files, text, (path) => addon.listFunctions(path, false).names);
  const hint =
    didYouMean(pattern, new Set(names)) ||
    "a function of an interpreter or of .NET has no place in a file that a probe could reach; inlined functions have none either";
  return `${text}: ${where} has no function ${pattern}\n${hint}`;
}
