// Functions that V8 compiles into their callers, and these into theirs.
const { burn } = require("./burn.cjs");

function innermost() {
  return burn("inlined", 20_000) + 1;
}
function middle() {
  return innermost() + 1;
}
function outermost() {
  let sum = 0;
  for (let i = 0; i < 50; i++) sum += middle();
  return sum;
}

for (;;) outermost();
