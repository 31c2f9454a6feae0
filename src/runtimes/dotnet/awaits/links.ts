/**
 * What objects of a type tell of who awaits them (struct dotnet_type), by the names of their fields. Facts: Task.cs,
 * TaskContinuation.cs, AsyncTaskMethodBuilderT.cs, PoolingAsyncValueTaskMethodBuilderT.cs and
 * ManualResetValueTaskSourceCore.cs of .NET 8 to 11.
 */
import {
  DOTNET_IS_MACHINE,
  DOTNET_IS_TASK,
  DOTNET_LINK_BLOCKED,
  DOTNET_LINK_COMPLETED,
  DOTNET_LINK_LIST,
  DOTNET_LINK_NEXT,
  DOTNET_LINK_NONE,
} from "../../../../build/abi.ts";
import { Unreadable } from "../memory.ts";
import type { HeapType, HeapTypes } from "./heap-types.ts";
import { methodOfMachine } from "./state-machines.ts";

/** A link as the kernel side knows it: offsets from the start of an object; 0: there is no such field. */
export interface Link {
  readonly link: number;
  readonly flags: number;
  readonly next: number;
  /** Of the object that `next` leads to; of a list its count. */
  readonly second: number;
  readonly taskFlags: number;
  readonly state: number;
  readonly machineAt: number;
  /** The state machine that the object holds. */
  readonly machine?: { readonly type: string; readonly module: string; readonly method: string };
}

export const NO_LINK: Link = {
  link: DOTNET_LINK_NONE,
  flags: 0,
  next: 0,
  second: 0,
  taskFlags: 0,
  state: 0,
  machineAt: 0,
};

const BUILDERS = "System.Runtime.CompilerServices.";
const BOXES = [
  `${BUILDERS}AsyncTaskMethodBuilder\`1+AsyncStateMachineBox\`1`,
  `${BUILDERS}AsyncTaskMethodBuilder\`1+DebugFinalizableAsyncStateMachineBox\`1`,
  `${BUILDERS}PoolingAsyncValueTaskMethodBuilder\`1+StateMachineBox\`1`,
];
const TASKS = "System.Threading.Tasks.";
const TASK = `${TASKS}Task`;
/** What a source of value tasks calls its continuation with: behind that in ManualResetValueTaskSourceCore. */
const SOURCE_STATE = "_continuationState";
const SOURCE_STATE_OFFSET = 8;
/** An element of a structure in another object counts from that, without the pointer to a MethodTable of its own. */
const HEADER = 8;

const is = (type: HeapType, name: string): boolean =>
  type.name === name || type.bases.includes(name);
const isStructure = (type: HeapType): boolean => type.bases[0] === "System.ValueType";

const next = (offset: number, second = 0): Link => ({
  ...NO_LINK,
  link: DOTNET_LINK_NEXT,
  next: offset,
  second,
});

/** The link of objects of a type. Throws Unreadable where it lacks a field that it should have. */
export function linkOf(address: number, types: HeapTypes): Link {
  const type = types.at(address);
  const at = (field: string): number => {
    const offset = type.fields.get(field);
    if (offset === undefined) throw new Unreadable(`its type has no field ${field}`);
    return offset;
  };
  if (BOXES.includes(type.name)) return linkOfBox(type, types, at);
  if (type.name === "System.Object") return { ...NO_LINK, link: DOTNET_LINK_COMPLETED };
  if (type.name === `${TASK}+SetOnInvokeMres`) return { ...NO_LINK, link: DOTNET_LINK_BLOCKED };
  if (type.name === "System.Collections.Generic.List`1") {
    return { ...next(at("_items"), at("_size")), link: DOTNET_LINK_LIST };
  }
  if (is(type, "System.MulticastDelegate")) return next(at("_target"));
  if (is(type, `${TASKS}TaskContinuation`)) {
    return next(at(type.fields.has("m_task") ? "m_task" : "m_action"));
  }
  if (is(type, TASK)) {
    return {
      ...next(at("m_continuationObject")),
      flags: DOTNET_IS_TASK,
      taskFlags: at("m_stateFlags"),
    };
  }
  if (type.name.startsWith(`${TASKS}TaskCompletionSource`)) return next(at("_task"));
  if (type.fields.has(SOURCE_STATE)) return next(at(SOURCE_STATE));
  return type.source === undefined ? NO_LINK : next(type.source + SOURCE_STATE_OFFSET);
}

/** The object of a suspended async method; it holds its state machine, or leads to it where that is a class. */
function linkOfBox(type: HeapType, types: HeapTypes, at: (field: string) => number): Link {
  const argument = type.arguments.at(-1);
  if (argument === undefined) throw new Unreadable("its state machine is of no type");
  const machine = types.at(argument);
  const method = methodOfMachine(machine.name);
  if (method === undefined) throw new Unreadable("its state machine is of no method");
  const inside = isStructure(machine);
  const place = at("StateMachine");
  const state = machine.fields.get("<>1__state");
  if (state === undefined) throw new Unreadable("its state machine has no state");
  return {
    ...linkOfMachine(type, machine, at),
    flags: DOTNET_IS_MACHINE,
    taskFlags: type.fields.get("m_stateFlags") ?? 0,
    state: inside ? place + state - HEADER : state,
    machineAt: inside ? 0 : place,
    machine: { type: machine.name, module: machine.module, method },
  };
}

function linkOfMachine(type: HeapType, machine: HeapType, at: (field: string) => number): Link {
  if (type.source !== undefined) return next(type.source + SOURCE_STATE_OFFSET);
  const inside = isStructure(machine);
  // Who asks an async iterator for its next element awaits the iterator itself.
  if (!inside && machine.source !== undefined) {
    return next(at("StateMachine"), machine.source + SOURCE_STATE_OFFSET);
  }
  // A worker of Parallel.ForEachAsync is awaited by nobody: it tells the state that all of them share.
  if (inside && machine.name.startsWith(`${TASKS}Parallel+`)) {
    const shared = [...machine.fields].find(([name]) => name.startsWith("<state>"));
    if (shared) return next(at("StateMachine") + shared[1] - HEADER, HEADER);
  }
  return next(at("m_continuationObject"));
}
