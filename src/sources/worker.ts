/** The collecting thread of a screen, which never waits for it. */
import { parentPort, workerData } from "node:worker_threads";
import { compactRegularly } from "../machine/engine.ts";
import { putCollectorSecond } from "../machine/priority.ts";
import { type CollectingPort, type CollectingSetup, collect } from "./collecting.ts";

const port: CollectingPort = {
  reply: (message, handedOver = []) => parentPort?.postMessage(message, handedOver),
  onRequest: (listener) => parentPort?.on("message", listener),
  close: () => parentPort?.close(),
};

putCollectorSecond();
compactRegularly();
port.reply({ kind: "loaded" });
// The thread may be there before it is known what it has to do.
if (workerData) collect(workerData as CollectingSetup, port);
else parentPort?.once("message", (setup: CollectingSetup) => collect(setup, port));
