// SPDX-License-Identifier: Apache-2.0
/**
 * Reads the constants and enums of C headers that hold nothing but #defines of integers, enums, structs and static
 * assertions. Whatever else it meets is an error: a value must not be missed or misread without a word.
 */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * @typedef {{ text: string, place: string }} Token  A token, and the file and line that it stands in.
 * @typedef {number | bigint} Value                  A bigint where C computes in 64 bits.
 * @typedef {{ name: string, values: Map<string, Value> }} Enum
 */

const TOKEN =
  /([A-Za-z_]\w*|0[xX][0-9a-fA-F]+[uUlL]*|\d+[uUlL]*|"[^"]*"|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|~^(){}[\];,=<>.?:!])|\s+/y;

/** Operators of two operands that may stand in a value, by their precedence in C; the tightest last. */
const OPERATORS = [["|"], ["&"], ["<<", ">>"], ["+", "-"], ["*"]];

const OPERATIONS = {
  "|": (a, b) => a | b,
  "&": (a, b) => a & b,
  "<<": (a, b) => a << b,
  ">>": (a, b) => a >> b,
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
};

/** Says that a header holds something that is not understood, and where. */
function fail(place, what) {
  throw new Error(
    `${place}: ${what}; bpf/generate/c-header.mjs reads only #defines of integers, enums, structs`,
  );
}

/** A header, and those that it includes by a name in quotes. */
export class CHeader {
  /** Values of all #defines and enumerators, in the order of the files. @type {Map<string, Value>} */
  constants = new Map();
  /** @type {Enum[]} */
  enums = [];
  /** What a #define stands for, before it is evaluated. @type {Map<string, Token[]>} */
  #macros = new Map();
  #files = new Set();

  /** Reads a header; throws an Error that names the place of what it does not understand. */
  constructor(path) {
    this.#readFile(path);
  }

  #readFile(path) {
    if (this.#files.has(path)) return;
    this.#files.add(path);
    const tokens = [];
    let conditions = 0;
    let skipped = 0;
    withoutComments(readFileSync(path, "utf8")).forEach((line, index) => {
      const place = `${path}:${index + 1}`;
      const directive = /^\s*#\s*(\w+)\s*(.*)$/.exec(line);
      if (!directive) {
        if (skipped === 0) tokens.push(...tokensOf(line, place));
        return;
      }
      const [, word, rest] = directive;
      if (/^if/.test(word)) {
        conditions++;
        // The only conditions that are understood: an include guard, and what is for C++ alone.
        if (/^defined\(__cplusplus\)/.test(rest)) skipped = skipped || conditions;
        else if (word !== "ifndef" || conditions > 1) fail(place, `a condition: ${line.trim()}`);
      } else if (word === "endif") {
        if (skipped === conditions) skipped = 0;
        conditions--;
      } else if (skipped > 0) {
        // Nothing of this is for C.
      } else if (word === "define") {
        this.#define(rest, place);
      } else if (word === "include") {
        const own = /^"(.*)"$/.exec(rest)?.[1];
        if (own) this.#readFile(join(dirname(path), own));
      } else {
        fail(place, `a directive: ${line.trim()}`);
      }
    });
    this.#readDeclarations(tokens);
  }

  #define(rest, place) {
    const [, name, value] = /^(\w+)(?:\s+(.*))?$/.exec(rest) ?? fail(place, `#define ${rest}`);
    if (!value?.trim()) return; // an include guard
    if (this.#macros.has(name)) fail(place, `${name} is defined twice`);
    const tokens = tokensOf(value, place);
    this.#macros.set(name, tokens);
    this.constants.set(name, this.#evaluate(tokens, place));
  }

  #readDeclarations(tokens) {
    let at = 0;
    /** Index behind the bracket that closes the one at `open`. */
    const behind = (open) => {
      let depth = 0;
      for (let i = open; i < tokens.length; i++) {
        if ("({[".includes(tokens[i].text)) depth++;
        if (")}]".includes(tokens[i].text) && --depth === 0) return i + 1;
      }
      return fail(tokens[open].place, "a bracket that is not closed");
    };
    while (at < tokens.length) {
      const { text, place } = tokens[at];
      const name = tokens[at + 1]?.text ?? "";
      const isNamed = /^\w+$/.test(name) && tokens[at + 2]?.text === "{";
      if (text !== "_Static_assert" && !((text === "enum" || text === "struct") && isNamed))
        fail(place, `a declaration: ${text} ${name}`);
      const open = text === "_Static_assert" ? at + 1 : at + 2;
      const end = behind(open);
      if (text === "enum") this.#readEnum(name, tokens.slice(open + 1, end - 1));
      if (tokens[end]?.text !== ";") fail(place, `${text} ${name} does not end in ;`);
      at = end + 1;
    }
  }

  #readEnum(name, tokens) {
    const values = new Map();
    let next = 0;
    for (let at = 0; at < tokens.length; ) {
      const { text, place } = tokens[at];
      const comma = tokens.findIndex((token, i) => i > at && token.text === ",");
      const end = comma < 0 ? tokens.length : comma;
      if (at + 1 < end && tokens[at + 1].text !== "=") fail(place, `an enumerator: ${text}`);
      const value = at + 1 < end ? this.#evaluate(tokens.slice(at + 2, end), place) : next;
      if (this.constants.has(text)) fail(place, `${text} is defined twice`);
      this.constants.set(text, value);
      values.set(text, value);
      next = Number(value) + 1;
      at = end + 1;
    }
    this.enums.push({ name, values });
  }

  /** @param {Token[]} tokens  @returns {Value} */
  #evaluate(tokens, place) {
    const expanded = this.#expand(tokens);
    let at = 0;
    const value = (level) => {
      if (level === OPERATORS.length) return unary();
      let left = value(level + 1);
      while (OPERATORS[level].includes(expanded[at]?.text)) {
        const operation = OPERATIONS[expanded[at++].text];
        left = operation(left, value(level + 1));
      }
      return left;
    };
    const unary = () => {
      const text = expanded[at++]?.text ?? "";
      if (text === "-") return -unary();
      if (text === "(") {
        const inner = value(0);
        return expanded[at++]?.text === ")" ? inner : fail(place, "a bracket that is not closed");
      }
      if (/^0\d/.test(text)) fail(place, `an octal number: ${text}`);
      if (/^\d/.test(text)) return BigInt(text.replace(/[uUlL]+$/, ""));
      const known = this.constants.get(text);
      return known === undefined ? fail(place, `no integer: ${text}`) : BigInt(known);
    };
    const result = value(0);
    if (at < expanded.length) fail(place, `no integer: ${expanded[at].text}`);
    const isWide = expanded.some(({ text }) => /^\d.*ll$/i.test(text));
    if (!isWide && (result > 0xffffffffn || result < -0x80000000n))
      fail(place, `${result} needs 64 bits, and no number in it has the suffix ULL`);
    return isWide ? result : Number(result);
  }

  /** @param {Token[]} tokens  @returns {Token[]} */
  #expand(tokens) {
    return tokens.flatMap((token) => {
      const macro = this.#macros.get(token.text);
      return macro ? this.#expand(macro) : [token];
    });
  }
}

/** The lines of a text, with spaces in place of its comments. */
function withoutComments(text) {
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, (it) => it.replace(/[^\n]/g, " ")).split("\n");
}

/** @returns {Token[]} */
function tokensOf(line, place) {
  const tokens = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < line.length) {
    const from = TOKEN.lastIndex;
    const match = TOKEN.exec(line);
    if (!match) return fail(place, `a character: ${line[from]}`);
    if (match[1]) tokens.push({ text: match[1], place });
  }
  return tokens;
}
