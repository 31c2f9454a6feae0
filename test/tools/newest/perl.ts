/** The newest Perls of Debian: as it is used, and the one for debugging. */
import { Lacking } from "../../support/measure.ts";
import { offeredPerl, type Perl, startPerl } from "../../support/perl.ts";
import { callerOf, sharesOf } from "../accuracy/perl.ts";
import type { Newest, Tried } from "./finding.ts";
import { noticesOf, rowOf } from "./notices.ts";
import { offeredByDebian } from "./offered.ts";

async function tried(perl: Perl | string): Promise<Tried> {
  if (typeof perl === "string") throw new Lacking(perl);
  const rows = await callerOf(perl);
  const [shares] = await sharesOf(perl);
  return {
    notices: await noticesOf(startPerl(perl, "shares.pl")),
    complete: rowOf(rows, /complete/),
    named: rowOf(rows, /every line/),
    shares: shares ?? rowOf([], /shares/),
  };
}

export const perl = (): Newest[] =>
  offeredByDebian("^perl$").flatMap(({ suite, version }) =>
    ["perl", "debugperl"].map((program) => ({
      what: program === "perl" ? "Perl" : `Perl (${program})`,
      version,
      from: suite,
      run: () => tried(offeredPerl(suite, version, program)),
    })),
  );
