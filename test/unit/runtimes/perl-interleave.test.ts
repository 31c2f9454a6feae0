/** Perl frames between native frames: which segment stands at which run loop. */
import { expect, test } from "vitest";
import { MergedFrames } from "../../../src/runtimes/merged-frames.ts";
import {
  type InterleaveOptions,
  interleave,
  type NativeRole,
  type PerlRole,
} from "../../../src/runtimes/perl/interleave.ts";

const ROLES: Readonly<Record<string, NativeRole>> = {
  loop: "run-loop",
  perl_run: "perl-run",
  perl_parse: "perl-parse",
  perl_destruct: "perl-destruct",
  call_sv: "call",
  stop: "stop",
};

/** pp_* and other small letters: the interpreter; with a capital: another file. */
function roleOf(word: string): NativeRole {
  return ROLES[word] ?? (/^[A-Z]/.test(word) ? "other" : "interpreter");
}

function perlRoleOf(word: string): PerlRole {
  if (word === "|") return "cut";
  if (word === "(main)") return "main";
  return word === "[stop]" ? "stop" : "frame";
}

/** Merges frames given as words, leaf first; hidden ones come back in brackets. */
function merge(nativeWords: string, perlWords: string, options?: InterleaveOptions) {
  const native = nativeWords.split(" ").filter(Boolean);
  const perl = perlWords.split(" ").filter(Boolean);
  const words = [...native, ...perl];
  // A native frame that is hidden has the next number.
  const numbers = words.map((_, index) => 2 * index);
  const into = new MergedFrames(words.length + 1);
  const unpaired = interleave(
    { numbers, roles: native.map(roleOf) },
    { numbers: numbers.slice(native.length), roles: perl.map(perlRoleOf) },
    into,
    options,
  );
  const text = Array.from(into.copy(), (number) => {
    const word = words[number >> 1] ?? "XSUB";
    return number % 2 ? `(${word})` : word;
  });
  return { text: text.join(" "), unpaired };
}

const shown = (native: string, perl: string, options?: InterleaveOptions): string =>
  merge(native, perl, options)
    .text.split(" ")
    .filter((word) => !word.startsWith("(") || word === "(main)")
    .join(" ");

test("one run loop: the subs stand where it stands", () => {
  const { text, unpaired } = merge("pp_add loop perl_run start Libc", "b a (main)");
  expect(text).toBe("(pp_add) b a (main) (loop) (perl_run) (start) Libc");
  expect(unpaired).toBe(false);
});

test("a sort block calls a sub: its caller stands below the C code of sort", () => {
  const native = "pp_add loop sortcv Qsort pp_sort loop perl_run";
  expect(shown(native, "cmp | deep (main)")).toBe("cmp Qsort deep (main)");
});

test("an eval within C code goes on in a loop of its own, behind one frame or two", () => {
  const perl = "inner (eval) | outer (main)";
  expect(shown("pp_x loop docatch loop call_sv pp_tie Libc loop perl_run", perl)).toBe(
    "inner (eval) Libc outer (main)".replace("(eval) ", ""),
  );
  expect(
    merge("loop docatch pp_entertry loop call_sv magic pp_x loop perl_run", perl).unpaired,
  ).toBe(false);
});

test("a call that is about to enter its loop is the innermost", () => {
  expect(shown("call_sv amagic pp_add loop perl_run", "plus | main_sub (main)")).toBe(
    "plus main_sub (main)",
  );
});

test("a loop that its call has just left has no Perl frames", () => {
  const native = "Leaf loop call_sv magic pp_x loop perl_run";
  expect(shown(native, "f (main)")).toBe("Leaf f (main)");
});

test("phase blocks: the main program runs in no loop, and is shown", () => {
  const native = "pp_add loop call_sv call_list perl_destruct start Libc";
  expect(shown(native, "END | (main)")).toBe("END (main) Libc");
});

test("a thread and a callback have no code outside of subs below them", () => {
  expect(shown("pp_add loop call_sv Threads Start", "work | (main)")).toBe("work Threads Start");
});

test("code that is called for the main program, not by perl_run itself", () => {
  expect(shown("pp_add loop run_body perl_run", "f (main)")).toBe("f (main)");
});

test("a native walk that broke: paired from the leaf, the rest at its end", () => {
  const native = "pp_add loop Qsort stop";
  expect(shown(native, "cmp | deep (main)")).toBe("cmp Qsort deep (main) stop");
});

test("a Perl walk that broke: its reason is the outermost frame", () => {
  expect(shown("pp_add loop perl_run Libc", "f [stop]")).toBe("f Libc [stop]");
});

test("numbers that disagree: one block, and it is said", () => {
  const { unpaired } = merge("pp_add loop perl_run", "a | b | c | d (main)");
  expect(unpaired).toBe(true);
  expect(shown("pp_add loop perl_run Libc", "a | b | c | d (main)")).toBe("a b c d (main) Libc");
});

test("a sub written in C stands at its function", () => {
  const options = { xsub: { number: 98, at: 1 } };
  expect(merge("Helper Xs pp_entersub loop perl_run", "f (main)", options).text).toBe(
    "Helper XSUB (Xs) (pp_entersub) f (main) (loop) (perl_run)",
  );
});

test("without Perl frames nothing is hidden", () => {
  expect(merge("pp_add loop perl_run Libc", "[stop]").text).toBe(
    "pp_add loop perl_run Libc [stop]",
  );
});

test("nothing of both: nothing", () => {
  expect(merge("", "")).toEqual({ text: "", unpaired: false });
});
