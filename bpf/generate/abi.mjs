// SPDX-License-Identifier: Apache-2.0
/** Prints bpf/abi.h and the ids of the counters as TypeScript. */

const literal = (value) => (typeof value === "bigint" ? `0x${value.toString(16)}n` : String(value));

/** The values of an enum as words: of OUTCOME_COMPLETE, OUTCOME_BROKEN the words `complete`, `broken`. */
function wordsOf({ values }) {
  const names = [...values.keys()];
  const [first = ""] = names;
  let length = first.lastIndexOf("_") + 1;
  while (!names.every((name) => name.startsWith(first.slice(0, length)))) {
    length = first.lastIndexOf("_", length - 2) + 1;
  }
  return names.map((name) => name.slice(length).toLowerCase().replaceAll("_", "-"));
}

/** A list of the words of an enum whose values are 0, 1, 2, …: the value is the index. */
function enumWords(one) {
  if ([...one.values.values()].some((value, index) => value !== index)) return [];
  const words = wordsOf(one).map((word) => JSON.stringify(word));
  return [
    `/** The words for enum ${one.name}, by value. */`,
    `export const ${one.name.toUpperCase()}_WORDS = [${words.join(", ")}] as const;`,
  ];
}

/** The text of build/abi.ts. */
export function abiModule({ constants, enums }, counters) {
  return [
    "/** Made by bin/generate from bpf/abi.h and bpf/counters.json: edit those. */",
    ...[...constants].map(([name, value]) => `export const ${name} = ${literal(value)};`),
    ...enums.flatMap(enumWords),
    "/** The ids of the counters. */",
    "export const COUNTER_IDS = {",
    ...counters.map(({ name, id }) => `  ${name}: ${id},`),
    "} as const;",
    "/** The name of a counter: an own key of `Tick.metrics`. */",
    "export type CounterName = keyof typeof COUNTER_IDS;",
    "",
  ].join("\n");
}
