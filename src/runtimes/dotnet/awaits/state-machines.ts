/**
 * What the C# compiler makes of an async method: a state machine, a type of its own whose method MoveNext carries it
 * out. Its name holds that of the method (roslyn, GeneratedNames.MakeStateMachineTypeName; no version has changed it).
 */
import {
  DOTNET_MACHINE_SHIFT,
  DOTNET_MOVES,
  DOTNET_ORDINARY,
  DOTNET_POOLS,
  DOTNET_RESUMES,
  DOTNET_RUNS_TASK,
} from "../../../../build/abi.ts";

const CORE = "System.Private.CoreLib";
const MACHINE = /^(.*)\+<(.*)>d(?:__[0-9_]+)?(?:`\d+)?$/;
/** That of an F# task expression: its module, the function, and the line that it begins at. */
const FSHARP_MACHINE = /^(.*)\+([^+@]+)@\d+(?:-\d+)?(?:`\d+)?$/;

/** The name of the async method that a type is the state machine of; undefined: it is none. */
export function methodOfMachine(type: string): string | undefined {
  const [, outer, method] = MACHINE.exec(type) ?? FSHARP_MACHINE.exec(type) ?? [];
  return outer && method ? `${outer}.${method}` : undefined;
}

/** Numbers state machines by their assembly and type: the same in all processes. */
export class MachineNumbers {
  readonly #numbers = new Map<string, number>();

  /** The number of a state machine; 0: there are more than are told apart. */
  of(module: string, type: string): number {
    const key = `${module}\0${type}`;
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    if (this.#numbers.size >= MAX_MACHINES) return 0;
    const number = this.#numbers.size + 1;
    this.#numbers.set(key, number);
    return number;
  }
}

const MAX_MACHINES = 100_000;

/** Types of the framework that call MoveNext of what they resume; everything that is theirs, but for what starts it. */
const RESUMERS = [
  /^System\.Runtime\.CompilerServices\./,
  /^System\.Threading\.ExecutionContext/,
  /^System\.Threading\.ThreadPoolWorkQueue/,
  /^System\.Threading\.QueueUserWorkItemCallback/,
  /^System\.Threading\.Tasks\.Task/,
  /AwaitTaskContinuation$/,
];
const STARTER = /(AsyncMethodBuilderCore|MethodBuilder(`1)?)$/;
const STARTS = ["Start", "MoveNext", "MoveNextAsync"];
const POOLS = ["System.Threading.ThreadPoolWorkQueue.Dispatch"];
const TASK = /^System\.Threading\.Tasks\.Task(`1)?$/;
const TASK_RUNS = ["ExecuteWithThreadLocal", "InnerInvoke"];

/** The role of a method (enum dotnet_role) by its name, with the number of its state machine. */
export function roleOf(name: string, module: string, machines: MachineNumbers): number {
  const end = name.lastIndexOf(".");
  const [type, method] = [name.slice(0, end), name.slice(end + 1)];
  if (method === "MoveNext" && methodOfMachine(type) !== undefined) {
    const number = machines.of(module, type);
    return number === 0 ? DOTNET_ORDINARY : DOTNET_MOVES | (number << DOTNET_MACHINE_SHIFT);
  }
  if (module !== CORE || methodOfMachine(type) !== undefined) return DOTNET_ORDINARY;
  if (POOLS.includes(name)) return DOTNET_POOLS;
  if (TASK.test(type) && TASK_RUNS.includes(method)) return DOTNET_RUNS_TASK;
  if (STARTER.test(type) && STARTS.includes(method)) return DOTNET_ORDINARY;
  return RESUMERS.some((it) => it.test(type)) ? DOTNET_RESUMES : DOTNET_ORDINARY;
}
