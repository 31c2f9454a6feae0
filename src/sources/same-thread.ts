/**
 * Collecting on the thread that prints. Where no key is waited for, a thread of its own would be there for nothing; it
 * takes 20 MB for a second V8, which compiles everything for itself.
 */
import { EventEmitter } from "node:events";
import { putCollectorSecond } from "../machine/priority.ts";
import type {
  Collecting,
  CollectingPort,
  CollectingReply,
  CollectingRequest,
  CollectingSetup,
} from "./collecting.ts";

/** What one side sends is there for the other behind this turn, as between threads: neither runs within the other. */
export class SameThread extends EventEmitter implements Collecting {
  readonly #loaded = import("./collecting.ts");
  #listener: (request: CollectingRequest) => void = () => {};

  constructor() {
    super();
    putCollectorSecond();
    this.#loaded.catch((error: unknown) => this.emit("error", error));
  }

  postMessage(message: CollectingSetup | CollectingRequest): void {
    void this.#loaded.then(({ collect }) => {
      if ("kind" in message) this.#listener(message);
      else collect(message, this.#port);
    });
  }

  readonly #port: CollectingPort = {
    reply: (message) => this.#emitSoon("message", message),
    onRequest: (listener) => {
      this.#listener = listener;
    },
    close: () => this.#emitSoon("exit", 0),
  };

  #emitSoon(event: "message" | "exit", value: CollectingReply | number): void {
    setImmediate(() => this.emit(event, value));
  }
}
