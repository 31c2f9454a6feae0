// Answers at once; threads of its own wait for a lock, and for a child.
const { readFile } = require("node:fs");
const { createServer } = require("node:http");
const { Worker } = require("node:worker_threads");

const LOCK = "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);";
const CHILD = 'require("node:child_process").spawnSync("sleep", ["1000"]);';

// Two of each: what is alike is not a pool for that.
for (const code of [LOCK, LOCK, CHILD, CHILD]) new Worker(code, { eval: true });
createServer((_request, response) => {
  readFile(__filename, () => response.end("hello\n"));
}).listen(Number(process.argv[2]), "127.0.0.1");
