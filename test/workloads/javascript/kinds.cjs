// Calls of every kind, each of which ends in burn().
const vm = require("node:vm");
const { burn } = require("./burn.cjs");

class Shape {
  constructor(kind) {
    if (kind) burn(kind);
  }
  area(kind) {
    return burn(kind);
  }
  get side() {
    return burn("getter");
  }
  static make(kind) {
    return burn(kind);
  }
  #hidden(kind) {
    return burn(kind);
  }
  shown(kind) {
    return this.#hidden(kind);
  }
}
class Square extends Shape {
  area(kind) {
    return super.area(kind);
  }
}

const holder = {};
holder.later = () => burn("inferred");
const arrow = () => burn("arrow");
const closure = (
  (kind) => () =>
    burn(kind)
)("closure");

function recursion(depth) {
  return depth > 0 ? recursion(depth - 1) : burn("recursion");
}
function* generator() {
  yield burn("generator");
  yield* inner();
}
function* inner() {
  yield burn("inner generator");
}
async function coroutine() {
  await null;
  burn("async");
  await awaited();
}
async function awaited() {
  burn("awaited");
}
function größe() {
  return burn("one byte");
}
function 名前() {
  return burn("two bytes");
}

const compiled = new Function(
  "burn",
  "return (function made() { return burn('new Function'); })();",
);
const script = new vm.Script("(function scripted(burn) {\n\n  return burn('vm');\n})", {
  filename: "/made/up.js",
});
const scripted = script.runInThisContext();
const proxy = new Proxy(
  {},
  {
    get(_target, name) {
      return name === "seen" ? burn("proxy") : 0;
    },
  },
);

const { eval: evaluate } = globalThis;
const evaluated = evaluate("(function evaluated(burn) { return burn('eval'); })");

const KINDS = [
  () => new Shape("constructor"),
  () => new Square().area("super"),
  () => new Shape().side,
  () => Shape.make("static"),
  () => new Shape().shown("private"),
  () => holder.later(),
  arrow,
  closure,
  () => recursion(20),
  () => [...generator()],
  größe,
  名前,
  () =>
    [1, 2].map(function mapped() {
      return burn("map");
    }),
  () =>
    [3, 1, 2].sort(function compared(a, b) {
      burn("sort", 10_000);
      return a - b;
    }),
  () => [1, 2].reduce((sum) => sum + burn("reduce"), 0),
  () =>
    "ab".replace(/./g, () => {
      burn("replace");
      return "x";
    }),
  () =>
    JSON.parse("[1]", function revived() {
      return burn("JSON.parse");
    }),
  () =>
    Reflect.apply(
      function applied() {
        return burn("apply");
      },
      null,
      [],
    ),
  () => burn.bind(null, "bind")(),
  () => compiled(burn),
  () => scripted(burn),
  () => proxy.seen,
  () => evaluated(burn),
];

async function main() {
  for (;;) {
    for (const kind of KINDS) kind();
    await coroutine();
  }
}
main();
