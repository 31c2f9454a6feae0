/** What keys do in the call tree, shown as a tree or as a flame. */
import { type CallTree, ROOT } from "../../model/call-tree.ts";
import { nodeOf, rowOf } from "../state/selectors.ts";
import type { Session } from "../state/session.ts";
import { expand, openPage } from "../state/transitions.ts";
import { FUNCTION_PAGE } from "./function.ts";

/** The tree that is shown, when there is one. */
function treeOf({ shown, state, selectors }: Session): CallTree | undefined {
  return shown && selectors.tree(shown, state).tree;
}

/** What is open by itself becomes the user's before he opens more. */
function seedOpen(session: Session): ReadonlySet<string> {
  const { shown, state, selectors } = session;
  if (shown && state.expanded.size === 0) {
    session.update(expand, selectors.openRows(shown, state), true);
  }
  return session.state.expanded;
}

/** Moves the selection by where rows stand; says whether the view is such a picture. */
export function steer(session: Session, to: "up" | "down" | "left" | "right"): boolean {
  const shape = session.shape();
  if (!shape.steer) return false;
  const id = shape.steer(session.state.selected[session.view.id], to);
  if (id !== undefined) session.selectRow(id);
  return true;
}

/** Shows or hides what is below a row of the tree. */
export function toggleRow(session: Session, row: string): void {
  const isOpen = seedOpen(session).has(row);
  session.update(expand, [row], !isOpen);
  session.selectRow(row);
}

/** Goes right or left: in a flame to the next frame, in a tree down and up. */
export const goSideways =
  (by: 1 | -1) =>
  (session: Session): void => {
    if (steer(session, by > 0 ? "right" : "left")) return;
    const tree = treeOf(session);
    const row = session.chosenRow();
    const node = tree && nodeOf(tree, row);
    if (!tree || row === undefined || node === undefined) return;
    const isOpen = seedOpen(session).has(row);
    if (by > 0) {
      const [first] = tree.children(node);
      if (first === undefined) return;
      if (isOpen) session.selectRow(rowOf(tree, first));
      else session.update(expand, [row], true);
    } else if (isOpen) {
      session.update(expand, [row], false);
    } else if (tree.parent(node) > ROOT) {
      session.selectRow(rowOf(tree, tree.parent(node)));
    }
    if (session.state.selected[session.view.id] === undefined) session.selectRow(row);
  };

/** Opens the page of the function of the node that is chosen. */
export function openFunctionOfNode(session: Session): void {
  const tree = treeOf(session);
  const node = tree && nodeOf(tree, session.chosenRow());
  if (!tree || !node) return;
  session.update(openPage, FUNCTION_PAGE, String(tree.functionOf(node).id));
}

/** Goes down the hottest path, as long as a child has a good part of its parent. */
export function followHottest(session: Session): void {
  const tree = treeOf(session);
  if (!tree) return;
  const { state, view } = session;
  let node = nodeOf(tree, state.selected[view.id] ?? state.zoom.at(-1)) ?? ROOT;
  const rows: string[] = [];
  for (let [child] = tree.children(node); child !== undefined; [child] = tree.children(node)) {
    if (node !== ROOT && tree.total(child) * 4 < tree.total(node)) break;
    if (node !== ROOT) rows.push(rowOf(tree, node));
    node = child;
  }
  if (node === ROOT) return;
  seedOpen(session);
  session.update(expand, rows, true);
  session.selectRow(rowOf(tree, node));
}
