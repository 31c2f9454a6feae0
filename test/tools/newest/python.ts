/** The newest CPythons of Debian, with the GIL and without. */
import { Lacking } from "../../support/measure.ts";
import { offeredPython, type Python, startPython } from "../../support/python.ts";
import { sharesOf, stacksOf } from "../accuracy/python.ts";
import type { Newest, Tried } from "./finding.ts";
import { noticesOf, rowOf } from "./notices.ts";
import { offeredByDebian } from "./offered.ts";

async function tried(python: Python | string): Promise<Tried> {
  if (typeof python === "string") throw new Lacking(python);
  const rows = await stacksOf(python);
  const shares = await sharesOf(python);
  return {
    notices: await noticesOf(startPython(python, "shares.py")),
    complete: rowOf(rows, /complete/),
    named: rowOf(rows, /identical/),
    shares: rowOf(shares, /shares/),
  };
}

export const python = (): Newest[] =>
  ["^python3[.][0-9]+$", "^python3[.][0-9]+-nogil$"].flatMap((pattern) =>
    offeredByDebian(pattern).map(({ suite, version, package: name }) => ({
      what: name.endsWith("-nogil") ? "CPython (no GIL)" : "CPython",
      version,
      from: suite,
      run: () => tried(offeredPython(suite, version, name)),
    })),
  );
