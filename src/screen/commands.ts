/** What the commands of keys do to a session. */
import { quoted } from "../model/complete.ts";
import { clock } from "../model/format.ts";
import { RECENT_SECONDS, type Span } from "../model/state.ts";
import { TRAIL_CELLS } from "../model/trails.ts";
import type { Command } from "./bindings.ts";
import { functionOfRow } from "./detail.ts";
import { threadOfRow } from "./processes.ts";
import type { Session } from "./session.ts";

/** What is written covers what history lines show, seconds. */
const WRITTEN_SECONDS = 4 * TRAIL_CELLS;

/** Runs one. */
export function runCommand(session: Session, command: Command): void {
  const now = session.now();
  switch (command.do) {
    case "quit":
    case "suspend":
    case "redraw":
      session.terminal[command.do]();
      break;
    case "help":
      session.helpOffset = 0;
      session.dispatch({ type: "mode", mode: "help" });
      break;
    case "pid":
    case "filter":
      session.dispatch({ type: "mode", mode: command.do });
      break;
    case "sort":
      session.dispatch({ type: "sort", step: command.by, now });
      session.dispatch({ type: "message", text: `sorted by ${session.state.sort}`, now });
      break;
    case "freeze":
      session.dispatch({
        type: "freeze",
        tick: session.state.frozen ? undefined : session.latest,
      });
      break;
    case "step":
      step(session, command.by);
      break;
    case "interval":
      session.dispatch({ type: "interval", step: command.by });
      session.source.setInterval(session.state.delaySeconds);
      break;
    case "clear":
      session.clearTotals();
      session.dispatch({ type: "message", text: "totals cleared", now });
      break;
    case "view":
      session.dispatch({ type: "view", view: command.view });
      break;
    case "move":
      if (!steer(session, command.motion)) {
        session.dispatch({ type: "move", motion: command.motion, ...session.shape(), now });
      }
      break;
    case "side":
      side(session, command.by);
      break;
    case "match":
      match(session, command.by);
      break;
    case "span":
      session.dispatch({ type: "span" });
      session.dispatch({ type: "message", text: SPAN_TEXTS[session.state.span], now });
      break;
    case "open":
      open(session);
      break;
    case "detail":
      detail(session);
      break;
    case "follow":
      follow(session);
      break;
    case "subtree": {
      const id = chosen(session);
      if (id !== undefined) session.dispatch({ type: "narrow", words: `tree:${id % 2 ** 32}` });
      break;
    }
    case "mark":
      mark(session);
      break;
    case "write":
      void write(session);
      break;
    case "next-view":
    case "reverse":
    case "kernel":
    case "names":
    case "language":
    case "threads":
    case "bottom-up":
      session.dispatch({ type: command.do });
      break;
    case "back":
      back(session);
      break;
    default:
      command satisfies never;
  }
}

/** A selection in an empty list is nothing that anybody sees: the filter that emptied it goes at once. */
function back(session: Session): void {
  const { view, selected, back: places } = session.state;
  const { ids, steer } = session.shape();
  const isHidden = selected[view] !== undefined && ids.length === 0 && !steer;
  if (isHidden && places.length === 0) session.dispatch({ type: "back" });
  session.dispatch({ type: "back" });
}

const SPAN_TEXTS: Readonly<Record<Span, string>> = {
  now: "percentages of this refresh",
  recent: `percentages of the last ${RECENT_SECONDS} s`,
  since: "percentages of all since the start, or since c",
};

function step(session: Session, by: 1 | -1): void {
  const from = session.shown;
  if (!from || (by > 0 && !session.state.frozen)) return;
  const tick = session.history.step(from, by);
  if (tick) session.dispatch({ type: "freeze", tick });
}

/** The selected row, or the first when none is. */
function chosen(session: Session): number | undefined {
  const { ids } = session.shape();
  const selected = session.state.selected[session.state.view];
  return selected !== undefined && ids.includes(selected) ? selected : ids[0];
}

function select(session: Session, id: number): void {
  const { ids, page } = session.shape();
  session.dispatch({ type: "select", id, ids, page, now: session.now() });
}

/** Moves in a view that is no list; says whether it is one. */
function steer(session: Session, motion: string): boolean {
  const shape = session.shape();
  if (!shape.steer) return false;
  if (motion === "up" || motion === "down" || motion === "left" || motion === "right") {
    const id = shape.steer(session.state.selected[session.state.view], motion);
    if (id !== undefined) select(session, id);
    return true;
  }
  const id = motion === "first" || motion === "page-up" ? shape.ids[0] : undefined;
  if (id !== undefined) select(session, id);
  if (motion === "last" || motion === "page-down") follow(session);
  return true;
}

/** What is open by itself becomes the user's before he opens more. */
function seedOpen(session: Session): ReadonlySet<number> {
  const tick = session.shown;
  if (tick && session.state.expanded.size === 0) {
    const paths = [...session.looks.openPaths(tick, session.state)];
    session.dispatch({ type: "expand", paths, open: true });
  }
  return session.state.expanded;
}

/** Right and left: in a flame to the next frame, in a tree down and up. */
function side(session: Session, by: 1 | -1): void {
  if (steer(session, by > 0 ? "right" : "left")) return;
  const tick = session.shown;
  const path = chosen(session);
  if (!tick || path === undefined) return;
  const { tree } = session.looks.tree(tick, session.state);
  const node = tree.find(path);
  if (node === undefined) return;
  const isOpen = seedOpen(session).has(path);
  if (by > 0) {
    const [first] = tree.children(node);
    if (first === undefined) return;
    if (isOpen) select(session, tree.path(first));
    else session.dispatch({ type: "expand", paths: [path], open: true });
  } else if (isOpen) {
    session.dispatch({ type: "expand", paths: [path], open: false });
  } else if (tree.parent(node) > 0) {
    select(session, tree.path(tree.parent(node)));
  }
  if (session.state.selected.tree === undefined) select(session, path);
}

function match(session: Session, by: 1 | -1): void {
  const { matches = [] } = session.shape();
  if (matches.length === 0) {
    session.say("nothing in the flame is named by the filter: / searches");
    return;
  }
  const at = matches.indexOf(session.state.selected[session.state.view] ?? -1);
  const to = at < 0 ? (by > 0 ? 0 : matches.length - 1) : at + by;
  const id = matches[(to + matches.length) % matches.length];
  if (id !== undefined) select(session, id);
}

function open(session: Session): void {
  const { view } = session.state;
  const id = chosen(session);
  if (id === undefined) return;
  if (view === "tree") {
    const isOpen = seedOpen(session).has(id);
    session.dispatch({ type: "expand", paths: [id], open: !isOpen });
    select(session, id);
  } else if (view === "flame") {
    if (session.state.zoom.at(-1) !== id) session.dispatch({ type: "zoom", path: id });
  } else if (view === "function") {
    session.dispatch({ type: "open", id: functionOfRow(id) });
  } else if (view === "counter") {
    session.dispatch({ type: "narrow", words: `pid:${id}` });
  } else if (view === "processes" && id >= 2 ** 32) {
    const words = `pid:${id % 2 ** 32} thread:${quoted(threadOfRow(id))}`;
    session.dispatch({ type: "narrow", words });
  } else {
    session.dispatch({ type: "open", id });
  }
}

/** The function of a node of the tree. */
function detail(session: Session): void {
  const tick = session.shown;
  const path = chosen(session);
  if (!tick) return;
  const { tree } = session.looks.tree(tick, session.state);
  const node = tree.find(path);
  if (node) session.dispatch({ type: "open", id: tree.functionOf(node).id });
}

/** Down the hottest path, as long as a child has a good part of its parent. */
function follow(session: Session): void {
  const tick = session.shown;
  if (!tick) return;
  const { tree } = session.looks.tree(tick, session.state);
  const from = session.state.selected[session.state.view];
  let node = tree.find(from ?? session.state.zoom.at(-1)) ?? 0;
  const paths: number[] = [];
  for (let [child] = tree.children(node); child !== undefined; [child] = tree.children(node)) {
    if (node !== 0 && tree.total(child) * 4 < tree.total(node)) break;
    if (node !== 0) paths.push(tree.path(node));
    node = child;
  }
  if (node === 0) return;
  seedOpen(session);
  session.dispatch({ type: "expand", paths, open: true });
  select(session, tree.path(node));
}

function mark(session: Session): void {
  const tick = session.shown;
  if (!tick) return;
  if (session.state.mark) {
    session.dispatch({ type: "mark", mark: undefined });
    session.say("no mark");
    return;
  }
  const ticks = session.history.last(RECENT_SECONDS, tick);
  session.dispatch({ type: "mark", mark: { time: tick.time, ticks } });
  session.say("marked: CHANGE compares the last 10 s with those before the mark");
}

async function write(session: Session): Promise<void> {
  const tick = session.shown;
  if (!session.write || !tick) {
    session.say("! there is nothing to write to here");
    return;
  }
  const ticks = session.history.last(WRITTEN_SECONDS, tick);
  try {
    const path = await session.write(ticks, session.lines.of);
    const first = ticks[0]?.time ?? tick.time;
    session.say(`written: ${clock((tick.time - first) / 1000 + tick.intervalSeconds)} to ${path}`);
  } catch (error) {
    session.say(`! ${error instanceof Error ? error.message : String(error)}`);
  }
}
