// Shares of the CPU that are known: 40, 30, 20 and 10 parts of the same work, each in another kind of call.
const SOURCE =
  "let sum = 0; for (let i = 0; i < rounds; i++) sum = (sum + i * 7) % 1000003; return sum;";
const work = ["recursion", "generator", "callback", "awaited"].map((name) =>
  new Function(`return function in_${name}(rounds) { ${SOURCE} }`)(),
);

function by_recursion(rounds, depth = 20) {
  return depth > 0 ? by_recursion(rounds, depth - 1) : work[0](rounds);
}
function* by_generator(rounds) {
  yield work[1](rounds);
}
function by_callback(rounds) {
  return [0].map(() => work[2](rounds));
}
async function by_async(rounds) {
  await null;
  return work[3](rounds);
}

const PART = 1_000_000;
async function main() {
  for (;;) {
    by_recursion(4 * PART);
    for (const _ of by_generator(3 * PART));
    by_callback(2 * PART);
    await by_async(PART);
  }
}
main();
