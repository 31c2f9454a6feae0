// Uses the CPU, and writes down once for each place that it is called from which stack it sees itself.
const { appendFileSync } = require("node:fs");

const seen = new Set();
const names = new Map();

/** The callers of burn(), innermost first: `name|script|line` each. */
function callers(_error, sites) {
  return sites
    .filter((site) => !site.isAsync() && !site.isPromiseAll() && site.getLineNumber() !== null)
    .map(
      (site) =>
        `${site.getFunctionName() ?? ""}|${site.getFileName() ?? "(eval)"}|${site.getLineNumber()}`,
    )
    .join("\t");
}

function tell() {
  const holder = {};
  const prepare = Error.prepareStackTrace;
  Error.prepareStackTrace = callers;
  Error.captureStackTrace(holder, burn);
  const stack = holder.stack;
  Error.prepareStackTrace = prepare;
  if (seen.has(stack)) return;
  seen.add(stack);
  appendFileSync(process.env.BURN_TRUTH, `${stack}\n`);
}

// It is too long to be compiled into its caller, so that it has a frame of its own.
const spin = new Function(`return function spin(rounds) {
  let sum = 0;
  for (let i = 0; i < rounds; i++) sum += i ^ (sum & 7);
  if (sum === 0.5) { ${"sum = (sum ^ rounds) * 3;".repeat(100)} }
  return sum;
}`)();

/** `kind` tells each place that burn() is called from: its stack is looked at some times only. */
function burn(kind, rounds = 40_000) {
  const times = names.get(kind) ?? 0;
  if (times < 12) {
    names.set(kind, times + 1);
    tell();
  }
  return spin(rounds);
}

Error.stackTraceLimit = 200;
module.exports = { burn, spin };
