/** docs/reference.md is what the tables say. */
import { readFileSync, statSync } from "node:fs";
import { expect, test } from "vitest";
import { root } from "../../support/polytop.ts";
import { referencePage } from "../../tools/docs/page.ts";

test("the page of columns and counters is of the tables: npm run docs writes it anew", () => {
  expect(readFileSync(`${root}docs/reference.md`, "utf8")).toBe(referencePage());
});

test("the pictures of README are there, and small", () => {
  const readme = readFileSync(`${root}README.md`, "utf8");
  const pictures = [...readme.matchAll(/\((docs\/[^)]+\.svg)\)/g)].map((match) => match[1] ?? "");
  expect(pictures.length).toBeGreaterThanOrEqual(3);
  for (const picture of pictures) {
    expect(statSync(root + picture).size, picture).toBeLessThan(60_000);
  }
});
