/** Lines of source files: where their code is. */

import { EVENT_FUNCTION } from "../../build/abi.ts";
import type { LinePlaces } from "../addon/binding.ts";
import type { ResolvedEvent } from "../addon/events.ts";
import type { EventRequest } from "../tick/event-request.ts";
import {
  cannot,
  checkUprobes,
  eachFile,
  filesFor,
  filesInWords,
  placesByFile,
  type SearchContext,
} from "./probed-files.ts";

interface Searched extends LinePlaces {
  readonly path: string;
}

/** Finds where a source line begins in programs. Throws a UserError where it has no code. */
export function resolveLine(
  { text, file, source, line }: EventRequest & { kind: "line" },
  context: SearchContext,
): ResolvedEvent {
  checkUprobes(text);
  const files = filesFor(file, context, text);
  const searched = eachFile(files, text, (path): Searched[] => [
    { path, ...context.addon.listLinePlaces(path, source, line) },
  ]);
  const found = searched.flatMap(({ path, offsets }) =>
    [...offsets].map((offset) => ({ path, offset })),
  );
  if (found.length === 0) throw cannot(`${text}: ${whyNone(source, line, files, searched)}`);
  const sources = [
    ...new Set(searched.flatMap((one) => (one.offsets.length > 0 ? one.sources : []))),
  ];
  const parts = [
    found.length > 1
      ? `${found.length} places: the line is in several functions or was inlined into them`
      : "",
    sources.length > 1 ? `${sources.length} source files: ${sources.join(", ")}` : "",
  ].filter((part) => part !== "");
  return {
    name: text,
    unit: "events",
    setup: { name: text, kind: EVENT_FUNCTION, files: placesByFile(text, found, context.addon) },
    ...(parts.length > 0 ? { notice: `${text}: ${parts.join("; ")}` } : {}),
  };
}

function whyNone(
  source: string,
  line: number,
  files: readonly string[],
  searched: readonly Searched[],
): string {
  const having = searched.filter(({ sources }) => sources.length > 0);
  const next = having.map((one) => one.next).filter((one) => one > 0);
  if (having.length > 0) {
    const hint =
      next.length > 0
        ? `the next line that has is ${Math.min(...next)}`
        : "no line behind it has either";
    return `line ${line} of ${source} has no code of its own; ${hint}`;
  }
  const readable = searched.filter(({ why }) => why === "");
  if (readable.length > 0) {
    return `no source file of ${filesInWords(readable.map(({ path }) => path))} is called ${source}`;
  }
  const [first] = searched;
  return searched.length === 1
    ? `${first?.path}: ${first?.why}`
    : `none of ${filesInWords(files)} has a line table: install debug packages, or build with -g`;
}
