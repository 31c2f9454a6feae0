/** What keys do while a prompt is open: they type, complete, and put in force what was typed. */
import { withTaskWords } from "../../model/filter/filter.ts";
import { parsePids } from "../../model/pids.ts";
import { chooseEvents } from "./choose-events.ts";
import { complete } from "./complete.ts";
import { completePrompt, edit, recall, withPromptText } from "./prompt.ts";
import type { Session } from "./session.ts";
import { type PromptMode, withFilter } from "./state.ts";
import { enterMode, withPids } from "./transitions.ts";

/** Takes one key of a prompt, by its name. */
export function promptKey(session: Session, mode: PromptMode, name: string): void {
  const { text } = session.state.prompt;
  if (name === "enter") submit(session, mode, text);
  else if (name === "esc") session.update(enterMode, "list");
  else if (name === "up") session.update(recall, 1);
  else if (name === "down") session.update(recall, -1);
  else if (name === "tab") session.update(completePrompt, complete(mode, text, session.facts()));
  else session.update(edit, name);
}

function submit(session: Session, mode: PromptMode, text: string): void {
  if (session.state.prompt.error !== undefined) {
    if (mode === "pid") submitName(session, text);
    return;
  }
  if (mode === "filter") {
    session.update(withFilter, text);
    session.update(enterMode, "list");
    return;
  }
  if (mode === "events") {
    session.update(enterMode, "list");
    void chooseEvents(session, text);
    return;
  }
  const parsed = parsePids(text);
  if ("error" in parsed) return;
  session.update(enterMode, "list");
  void setPids(session, parsed.pids);
}

/** A name that only one process has stands for its pid. */
function submitName(session: Session, text: string): void {
  const { before, words } = complete("pid", text, session.facts());
  const [only] = words;
  if (only === undefined || words.length > 1) return;
  session.update(withPromptText, before + only);
  submit(session, "pid", before + only);
}

async function setPids(session: Session, pids: readonly number[]): Promise<void> {
  const { source } = session;
  if (!source.setPids) {
    const words = pids.length > 0 ? `pid:${pids.join(",")}` : "";
    session.update(withFilter, withTaskWords(session.state.filterText, words));
    session.changed();
    return;
  }
  let error: string | undefined;
  try {
    error = await source.setPids(pids);
  } catch (thrown) {
    error = thrown instanceof Error ? thrown.message : String(thrown);
  }
  if (error === undefined) {
    session.update(withPids, pids);
    session.say(
      pids.length > 0 ? `sampling pid ${pids.join(", ")} only` : "sampling all processes",
    );
    return;
  }
  session.say(`! ${error}`);
}
