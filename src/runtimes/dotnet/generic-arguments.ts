/** The generic arguments of a body of a method, as they are shown. */
import { Unreadable } from "./memory.ts";

/** An argument. `System.__Canon` stands for every class: they share a body. */
export interface GenericArgument {
  /** Whether the parameter is one of the type or of the method. */
  readonly of: "type" | "method";
  readonly parameter: string;
  readonly type: string;
}

/** Pairs parameters and types in their order; throws Unreadable where they are not as many. */
export function paired(
  of: GenericArgument["of"],
  parameters: readonly string[],
  types: readonly string[],
): GenericArgument[] {
  if (parameters.length !== types.length)
    throw new Unreadable("its generic arguments do not fit its parameters");
  return types.map((type, at) => ({ of, parameter: parameters[at] ?? "", type }));
}
