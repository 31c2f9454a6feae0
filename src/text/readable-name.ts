/**
 * Finds what the source calls a method that the C# compiler made. The names are those of Roslyn
 * (src/Compilers/CSharp/Portable/Symbols/Synthesized/GeneratedNameKind.cs): `<`, the member in the source,
 * `>`, a letter for the kind, and what tells several of them apart.
 */
import type { FunctionInfo } from "../tick/tick.ts";

/** A closure holds captured variables, or is the class of lambdas without any: `<>c__DisplayClass3_0`, `<>c`. */
const CLOSURE = /^<>c(__(DisplayClass)?[\d_]+)?(`\d+)?$/;

/** An async method or iterator is a class, with this behind the member: `<RunAsync>d__3`. */
const STATE_MACHINE = /^d(__\d+)?(`\d+)?$/;

/** A lambda has a number within its method: `<Main>b__0_1`. */
const LAMBDA = /^b__(?:\d+_)*(\d+)$/;

/** A local function has a name of its own: `<Main>g__Local|0_0`. */
const LOCAL_FUNCTION = /^g__(.+)\|[\d_]+$/;

/** A type of one file (`file class`) has the file and the hash of its path before its name. */
const FILE_LOCAL = /<[^<>+.]*>F[0-9A-F]{64}__/g;

/** `.MoveNext` of a state machine is the body of the method; other members serve it. */
const BODY = "MoveNext";
const SERVICE = /(?:^|\.)([^.]+)$/;

/** Splits a name at each `+` and `.` that is in no `<…>`; says where each part starts. */
function parts(name: string): { readonly text: string; readonly start: number }[] {
  const found: { text: string; start: number }[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at <= name.length; at++) {
    const character = name[at];
    if (character === "<") depth++;
    else if (character === ">") depth--;
    const isEnd = character === undefined || (depth === 0 && /[+.]/.test(character));
    if (!isEnd) continue;
    found.push({ text: name.slice(start, at), start });
    start = at + 1;
  }
  return found;
}

/** Takes `<inner>suffix` apart at the `>` that belongs to the first `<`; undefined for anything else. */
function opened(text: string): { readonly inner: string; readonly suffix: string } | undefined {
  if (!text.startsWith("<")) return undefined;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "<") depth++;
    else if (text[at] === ">" && --depth === 0) {
      return at === 1 ? undefined : { inner: text.slice(1, at), suffix: text.slice(at + 1) };
    }
  }
  return undefined;
}

/** Names a member as the source does; undefined where the compiler's way of naming it is not known. */
function member(text: string): string | undefined {
  if (!text.startsWith("<")) return text;
  const found = opened(text);
  if (!found) return undefined;
  const inner = member(found.inner);
  if (inner === undefined) return undefined;
  // `<Main>$` holds statements outside of any type, `<Main>` waits for an async one.
  if (found.suffix === "$" || (found.suffix === "" && inner === "Main")) return inner;
  const lambda = LAMBDA.exec(found.suffix);
  if (lambda) return `${inner} (lambda ${lambda[1]})`;
  const local = LOCAL_FUNCTION.exec(found.suffix);
  return local ? `${inner}.${local[1]}` : undefined;
}

/** Names the member behind a state machine, whose type has `-` for the dots of an explicit implementation. */
function machineMember(text: string, rest: string): string | undefined {
  const found = opened(text);
  if (!found || !STATE_MACHINE.test(found.suffix)) return undefined;
  const inner = member(found.inner.replaceAll("-", "."));
  if (inner === undefined || rest === "") return undefined;
  return rest === BODY ? inner : `${inner} (${SERVICE.exec(rest)?.[1] ?? rest})`;
}

/**
 * Makes `Worker.RunAsync` of `Worker+<RunAsync>d__3.MoveNext`, `Program.Main (lambda 0)` of
 * `Program+<>c.<Main>b__0_0`, `Program.Main.Add` of `Program.<Main>g__Add|0_0`. A name that no compiler made,
 * or in a way that is not known, stays as it is.
 */
export function readableName(name: string): string {
  const plain = name.includes(">F") ? name.replace(FILE_LOCAL, "") : name;
  if (!plain.includes("<")) return plain;
  const all = parts(plain);
  const first = all.findIndex(({ text }) => text.startsWith("<"));
  const before = plain.slice(0, Math.max(0, (all[first]?.start ?? 0) - 1));
  if (before === "") return plain;
  let at = first;
  while (CLOSURE.test(all[at]?.text ?? "")) at++;
  const made = all[at];
  if (!made?.text.startsWith("<")) return plain;
  const next = all[at + 1];
  const found = next ? machineMember(made.text, plain.slice(next.start)) : member(made.text);
  return found === undefined ? plain : `${before}.${found}`;
}

const known = new WeakMap<FunctionInfo, string>();

/** Returns the readableName() of a function, which is made once. */
export function readableFunctionName(info: FunctionInfo): string {
  if (info.runtime !== "dotnet") return info.name;
  const name = known.get(info) ?? readableName(info.name);
  known.set(info, name);
  return name;
}
