/** Names of Perl frames from their strings. */
import { describe, expect, test } from "vitest";
import {
  INTERPRETER_PERL,
  PERL_EVAL,
  PERL_FILE_SHIFT,
  PERL_MAIN,
  PERL_NAME_LEXICAL,
  PERL_NAME_NO_STASH,
  PERL_NAME_NONE,
  PERL_OP_SHIFT,
  PERL_SUB,
} from "../../../build/abi.ts";
import type { InterpretedName, NamePart } from "../../../src/addon/drained.ts";
import { PerlNames } from "../../../src/runtimes/perl/names.ts";

const string = (text: string, encoding = 1, length = Buffer.from(text).length) => ({
  encoding,
  length,
  bytes: Buffer.from(text, encoding === 0 ? "latin1" : "utf8"),
});

interface Given {
  readonly kind?: number;
  readonly flags?: number;
  readonly sub?: NamePart;
  readonly package?: NamePart;
  readonly file?: NamePart;
}

const given = (more: Given = {}): InterpretedName => ({
  interpreter: INTERPRETER_PERL,
  name: 1n,
  kind: more.kind ?? PERL_SUB,
  flags: more.flags ?? 0,
  parts: [
    more.sub ?? string("entry"),
    more.package ?? string("Ledger::Post"),
    more.file ?? string("/srv/ledger.pl", 2),
  ],
});

function nameOf(more: Given): string {
  const names = new PerlNames();
  names.ingest({ files: [], names: [given(more)], renewed: false });
  return names.read(1n, 0, 0).function.name;
}

describe("names", () => {
  test.each([
    ["a sub", {}, "Ledger::Post::entry"],
    ["an anonymous sub", { sub: string("__ANON__") }, "Ledger::Post::__ANON__"],
    ["a lexical sub", { flags: PERL_NAME_LEXICAL }, "entry"],
    ["a phase block", { sub: string("BEGIN") }, "BEGIN"],
    ["a sub whose glob is gone", { flags: PERL_NAME_NONE }, "(unknown)"],
    ["a sub whose package is gone", { flags: PERL_NAME_NO_STASH }, "__ANON__::entry"],
    ["an eval", { kind: PERL_EVAL }, "(eval)"],
    ["code outside of subs", { kind: PERL_MAIN }, "(main)"],
    ["UTF-8", { sub: string("größe") }, "Ledger::Post::größe"],
    ["Latin-1", { sub: string("größe", 0, 5) }, "Ledger::Post::größe"],
    [
      "broken UTF-8",
      { sub: { encoding: 1, length: 2, bytes: Buffer.from([0x61, 0xff]) } },
      "Ledger::Post::a\ufffd",
    ],
    ["one that was cut", { sub: string("long", 1, 3000) }, "Ledger::Post::long…"],
  ] as const)("%s", (_what, more, expected) => {
    expect(nameOf(more)).toBe(expected);
  });

  test("the module is the file; string evals have one", () => {
    const names = new PerlNames();
    names.ingest({
      files: [],
      names: [given(), { ...given({ file: string("(eval", 2) }), name: 2n }],
      renewed: false,
    });
    expect(names.read(1n, 0, 12)).toMatchObject({
      function: { module: "/srv/ledger.pl" },
      detail: { line: 12 },
    });
    expect(names.read(2n, 0, 0)).toEqual({
      function: { runtime: "perl", name: "Ledger::Post::entry", module: "(eval)" },
    });
  });
});

test("names are kept over one renewal, not over two", () => {
  const names = new PerlNames();
  const ingest = (given: InterpretedName[], renewed: boolean) =>
    names.ingest({ files: [], names: given, renewed });
  ingest([given()], false);
  ingest([], true);
  expect(names.read(1n, 0, 0).function.name).toBe("Ledger::Post::entry");
  ingest([], true);
  expect(names.read(1n, 0, 0).function.whyUnnamed).toBeDefined();
});

/** Names that know the interpreter of a file. */
function withInterpreter(version: string, warning = ""): PerlNames {
  const names = new PerlNames();
  const perl = { index: 3, version, warning, refused: false, opNames: ["null", "match"] };
  const file = { id: 9, path: "/usr/bin/perl", why: "", perl, refusal: "" };
  const files = [{ ...file, assemblies: new Float64Array() }];
  names.ingest({ files, names: [given()], renewed: false });
  return names;
}

test("of a version that was not tried it is told whether its layout held", () => {
  const names = withInterpreter("5.46.0", "perl 5.46.0 is newer");
  const told = (UnwindPerlUnverified: number, UnwindPerlMisfits: number): string[] =>
    names.notices({ UnwindPerlUnverified, UnwindPerlMisfits });
  expect(told(0, 0)).toEqual([]);
  expect(told(90, 2)).toEqual(["perl 5.46.0 is newer: its layout was checked against itself"]);
  expect(told(90, 90)).toEqual([
    "perl 5.46.0 is newer: it cannot be read, because its layout is another",
  ]);
  expect(withInterpreter("5.44.0").notices({ UnwindPerlUnverified: 90 })).toEqual([]);
});

test("the innermost frame says which op it executes", () => {
  const names = withInterpreter("5.36.0");
  const meta = (op: number, file: number) => op * 2 ** PERL_OP_SHIFT + file * 2 ** PERL_FILE_SHIFT;
  expect(names.read(1n, meta(2, 3), 0).detail?.note).toBe("match");
  expect(names.read(1n, meta(1, 3), 0).detail?.note).toBeUndefined();
  expect(names.read(1n, meta(2, 4), 0).detail?.note).toBeUndefined();
  expect(names.read(1n, 0, 0).detail?.note).toBeUndefined();
});
