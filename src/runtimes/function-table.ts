/** Functions by their names: each different one has one id. */
import { cleanName } from "../tick/clean-name.ts";
import { FIRST_FUNCTION, NO_FRAMES, STAND_INS } from "../tick/functions.ts";
import type { Runtime } from "../tick/runtimes.ts";
import type { FunctionInfo } from "../tick/tick.ts";
import type { NamedFunction } from "./reader.ts";

/** The functions of a module. */
interface ModuleFunctions {
  /** The clean name. */
  readonly module: string;
  /** Ids by the clean names of the functions. */
  readonly ids: Map<string, number>;
}

/** Gives ids to functions, upwards from the first that is free. */
export class FunctionTable {
  /** Modules by runtime and the name that they came with. */
  readonly #modules = new Map<Runtime, Map<string, ModuleFunctions>>();
  /** The same modules by runtime and clean name. */
  readonly #cleanModules = new Map<Runtime, Map<string, ModuleFunctions>>();
  #count = FIRST_FUNCTION;
  #added: FunctionInfo[] = [];
  readonly #infos: FunctionInfo[] = [...STAND_INS];

  /** Returns the id of a function; its names are cleaned here, once. */
  intern(named: NamedFunction): number {
    const { runtime, whyUnnamed } = named;
    const { module, ids } = this.#module(runtime, named.module);
    const name = cleanName(named.name);
    const known = ids.get(name);
    if (known !== undefined) return known;
    const id = this.#count++;
    ids.set(name, id);
    const unnamed = whyUnnamed === undefined ? {} : { whyUnnamed };
    const info = { id, runtime, name, module, ...unnamed };
    this.#added.push(info);
    this.#infos.push(info);
    return id;
  }

  /** Returns the function of an id. */
  readonly info = (id: number): FunctionInfo => this.#infos[id] ?? NO_FRAMES;

  #module(runtime: Runtime, named: string): ModuleFunctions {
    const modules = innerMap(this.#modules, runtime);
    const known = modules.get(named);
    if (known) return known;
    const module = cleanName(named);
    const clean = innerMap(this.#cleanModules, runtime);
    const functions = clean.get(module) ?? { module, ids: new Map<string, number>() };
    clean.set(module, functions);
    modules.set(named, functions);
    return functions;
  }

  /** Returns the functions that were added since the last call. */
  takeAdded(): FunctionInfo[] {
    const added = this.#added;
    this.#added = [];
    return added;
  }
}

/** The map at a key, made where there is none yet. */
function innerMap<Key, K, V>(maps: Map<Key, Map<K, V>>, key: Key): Map<K, V> {
  const known = maps.get(key);
  if (known) return known;
  const made = new Map<K, V>();
  maps.set(key, made);
  return made;
}
