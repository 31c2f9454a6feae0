/** What the page of the newest versions tells of one. */
import { expect, test } from "vitest";
import { Lacking } from "../../support/measure.ts";
import { find, findingsOf, isWanting, page } from "../../tools/newest/finding.ts";

const failing = (error: Error) =>
  find({ what: "Perl", version: "5.99.0", from: "sid", run: () => Promise.reject(error) });

test("what could not be had is told without the folders of the machine, and nothing must change for it", async () => {
  const finding = await failing(
    new Lacking(
      "perl, perl-debug cannot be fetched from Debian's sid into /home/a.b/.cache/polytop/perls",
    ),
  );
  expect(finding.change).toBe(
    "not tried: perl, perl-debug cannot be fetched from Debian's sid into perls",
  );
  expect(isWanting(finding)).toBe(false);
});

test("what fails is wanting", async () => {
  const finding = await failing(new Error("/usr/bin/perl5.99.0 and/or ~/x/y/: 3 of 4"));
  expect(finding.change).toBe("it fails: perl5.99.0 and/or y: 3 of 4");
  expect(isWanting(finding)).toBe(true);
});

test("a page holds all that it was made of", async () => {
  const findings = [await failing(new Error("a | b")), await failing(new Lacking("nothing"))];
  expect(findingsOf(page(findings, "2026-12-01"))).toEqual(findings);
});
