// Functions that are made, moved by the collector, and freed: each is of the file of its number, and below its line. Some
// are compiled into others of the same number.
const vm = require("node:vm");
const { spin } = require("./burn.cjs");

const BODY =
  "\n  let sum = 0;\n  for (let i = 0; i < 60000; i++) sum = (sum + i * 7) % 1000003;\n  return sum;\n";

function make(number) {
  const source = `(class Made_${number} { method_${number}() {${BODY}} made_${number}() {${BODY}}
    inner_made_${number}(spin) { return spin(2000) + 1; } middle_made_${number}(spin) { return this.inner_made_${number}(spin) + 1; }
    outer_made_${number}(spin) { let sum = 0; for (let i = 0; i < 100; i++) sum += this.middle_made_${number}(spin); return sum; } })`;
  const Made = vm.runInThisContext(source, { filename: `/file_${number}.js`, lineOffset: number });
  const made = new Made();
  return () => {
    made[`method_${number}`]();
    made[`made_${number}`]();
    for (let turn = 0; turn < 10; turn++) made[`outer_made_${number}`](spin);
  };
}

const kept = [];
for (let number = 0; ; number = (number + 1) % 5000) {
  kept[number % 40] = make(number);
  for (let turn = 0; turn < 3; turn++) for (const run of kept.slice(-4)) run();
  kept[number % 40]();
  if (number % 50 === 0) globalThis.gc?.();
}
