/** Other events while it runs, as the prompt of a screen asks for them. */
import type { ResolvedEvent } from "../addon/events.ts";
import { UserError } from "../tick/errors.ts";
import { parseEvents } from "../tick/event-request.ts";
import { EventCompleter } from "./complete.ts";
import type { SearchContext } from "./probed-files.ts";
import { resolveEvents } from "./resolve.ts";

/** What counts events. */
interface EventCounter {
  setEvents(events: readonly ResolvedEvent[]): Promise<string | undefined>;
}

/** What was wrong with the events that were chosen, or what is to be known of them. */
interface Choice {
  readonly error?: string;
  readonly notice?: string;
}

/** What a screen needs to choose events. */
export function eventTools(context: Omit<SearchContext, "pids">, counter: EventCounter) {
  const completer = new EventCompleter(context);
  return {
    async choose(text: string, pids: readonly number[]): Promise<Choice> {
      try {
        const events = resolveEvents(parseEvents(text), { ...context, pids });
        const error = await counter.setEvents(events);
        if (error !== undefined) return { error };
        const notices = events.flatMap(({ notice }) => notice ?? []);
        return notices.length > 0 ? { notice: notices.join("; ") } : {};
      } catch (error) {
        if (error instanceof UserError) return { error: error.message };
        throw error;
      }
    },
    complete: (typed: string, pids: readonly number[]): readonly string[] =>
      completer.complete(typed, pids),
  };
}
