// SPDX-License-Identifier: Apache-2.0
/** Prints the counters of bpf/counters.json as C: the text of build/counters.h. */
export function countersHeader(counters) {
  const lines = counters.map((it) => `\tCOUNTER_${it.name} = ${it.id}, /* ${it.meaning} */`);
  const end = Math.max(...counters.map((it) => it.id)) + 1;
  const truncated = counters
    .filter(({ kind }) => kind === "truncated")
    .map(({ name }) => `(counter) == COUNTER_${name}`);
  return `/* Made by bin/generate from bpf/counters.json: edit that file. */
#ifndef POLYTOP_COUNTERS_H
#define POLYTOP_COUNTERS_H

enum counter {
${lines.join("\n")}
};

/* One more than the highest id: the size of an array indexed by id. */
#define COUNTERS ${end}

/* Whether an outcome says that a limit was hit, and what was found is right. */
#define IS_TRUNCATED(counter) (${truncated.join(" || ")})

#endif
`;
}
