/** The loop of plain output: when it ends, and what it says then. */
import { describe, expect, test } from "vitest";
import { runPlain } from "../../../src/output/run.ts";
import type { Sink } from "../../../src/output/sink.ts";
import type { SourceEvent, TickSource } from "../../../src/tick/source.ts";
import { makeTick } from "../../support/ticks.ts";

/** A source that says what a test tells it to say. */
class FakeSource implements TickSource {
  readonly counters = [];
  private listener: ((event: SourceEvent) => void) | undefined;

  subscribe(listener: (event: SourceEvent) => void): () => void {
    this.listener = listener;
    return () => {
      this.listener = undefined;
    };
  }

  get isHeard(): boolean {
    return this.listener !== undefined;
  }

  say(event: SourceEvent): void {
    this.listener?.(event);
  }

  async setPids(): Promise<undefined> {}

  setInterval(): void {}
}

function start(iterations?: number) {
  const source = new FakeSource();
  const stop = new AbortController();
  const written: string[] = [];
  const warnings: string[] = [];
  const sink: Sink = { tick: (tick) => `tick ${tick.missed}`, end: () => "end" };
  const done = runPlain({
    source,
    sink,
    iterations,
    signal: stop.signal,
    write: (text) => written.push(text),
    warn: (text) => warnings.push(text),
  });
  return { source, stop, written, warnings, done };
}

const tick = (missed: number, notices: string[] = []): SourceEvent => ({
  tick: makeTick([], { missed, notices }),
});

describe("plain output", () => {
  test("ends after as many refreshes as were asked for", async () => {
    const { source, written, done } = start(2);
    for (const missed of [1, 2, 3]) source.say(tick(missed));
    await done;
    expect(written).toEqual(["tick 1", "tick 2", "end"]);
    expect(source.isHeard).toBe(false);
  });

  test("prints what it has when it is told to stop", async () => {
    const { source, stop, written, done } = start();
    source.say(tick(1));
    stop.abort();
    await done;
    expect(written).toEqual(["tick 1", "end"]);
    expect(source.isHeard).toBe(false);
  });

  test("fails with what the source failed of, after what it has", async () => {
    const { source, written, done } = start();
    source.say(tick(1));
    source.say({ error: "the ring buffer is gone" });
    await expect(done).rejects.toThrow("the ring buffer is gone");
    expect(written).toEqual(["tick 1", "end"]);
  });

  test("says a notice once", async () => {
    const { source, stop, warnings, done } = start();
    source.say(tick(1, ["a fallback is in use"]));
    source.say(tick(2, ["a fallback is in use", "another"]));
    stop.abort();
    await done;
    expect(warnings).toEqual(["a fallback is in use", "another"]);
  });
});
