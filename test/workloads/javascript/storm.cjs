// A storm of compilation: new functions for as long as the parent lives, each called until V8 has compiled it with every
// compiler that it has.
const vm = require("node:vm");

const DEPTH = 12;

function make(number) {
  const calls = (part) =>
    part === 0 ? "(n * 7 + 1) % 1000003" : `part_${part - 1}(n + 1) ^ ${number}`;
  const parts = Array.from(
    { length: DEPTH },
    (_, part) => `function part_${part}(n) { return ${calls(part)}; }`,
  );
  const round = `function round(turns) { let sum = 0; for (let i = 0; i < turns; i++) sum = (sum + part_${DEPTH - 1}(i)) | 0; return sum; }`;
  const source = `(() => {\n${parts.join("\n")}\nreturn ${round};\n})()`;
  return vm.runInThisContext(source, { filename: `/storm_${number % 100}.js` });
}

const parent = process.ppid;
for (let number = 0; process.ppid === parent; number++) {
  const round = make(number);
  for (let turn = 0; turn < 60; turn++) round(2000);
}
