// SPDX-License-Identifier: Apache-2.0
// Prints the C header of bpf/counters.json, so that a counter is written down once.
// Usage: node bpf/counters.mjs bpf/counters.json > build/counters.h
import { readFileSync } from "node:fs";

const { counters } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const lines = counters.map((it) => `\tCOUNTER_${it.name} = ${it.id}, /* ${it.meaning} */`);
const end = Math.max(...counters.map((it) => it.id)) + 1;

console.log(`/* Made from bpf/counters.json: edit that file. */
#ifndef POLYTOP_COUNTERS_H
#define POLYTOP_COUNTERS_H

enum counter {
${lines.join("\n")}
};

/* One more than the highest id: the size of an array indexed by id. */
#define COUNTERS ${end}

#endif`);
