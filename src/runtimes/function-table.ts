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

/**
 * So many functions are told apart, and so many characters of names are kept: some 200 MB in both threads. A busy
 * machine has a tenth after a day.
 */
const MAX_FUNCTIONS = 300_000;
const MAX_CHARACTERS = 30_000_000;
/** What stands for the others of a runtime. */
const TOO_MANY = "[too many functions]";

/** Gives ids to functions, upwards from the first that is free. */
export class FunctionTable {
  /** Modules by runtime and the name that they came with. */
  readonly #modules = new Map<Runtime, Map<string, ModuleFunctions>>();
  /** The same modules by runtime and clean name. */
  readonly #cleanModules = new Map<Runtime, Map<string, ModuleFunctions>>();
  #count = FIRST_FUNCTION;
  #added: FunctionInfo[] = [];
  readonly #infos: FunctionInfo[] = [...STAND_INS];
  #characters = 0;

  /** Says whether further functions are not told apart. */
  get isFull(): boolean {
    return this.#count >= MAX_FUNCTIONS || this.#characters >= MAX_CHARACTERS;
  }

  /** Returns the id of a function; its names are cleaned here, once. */
  intern(named: NamedFunction): number {
    const { runtime, whyUnnamed } = named;
    const hasModule = this.#modules.get(runtime)?.has(named.module) ?? false;
    if (this.isFull && !hasModule && named.name !== TOO_MANY) return this.#other(runtime);
    const { module, ids } = this.#module(runtime, named.module);
    const name = cleanName(named.name);
    const known = ids.get(name);
    if (known !== undefined) return known;
    if (this.isFull && named.name !== TOO_MANY) return this.#other(runtime);
    const id = this.#count++;
    this.#characters += name.length;
    ids.set(name, id);
    const unnamed = whyUnnamed === undefined ? {} : { whyUnnamed };
    const info = { id, runtime, name, module, ...unnamed };
    this.#added.push(info);
    this.#infos.push(info);
    return id;
  }

  #other(runtime: Runtime): number {
    const whyUnnamed = "more functions ran since the start than are told apart: start anew";
    return this.intern({ runtime, name: TOO_MANY, module: "", whyUnnamed });
  }

  /** Returns the function of an id. */
  readonly info = (id: number): FunctionInfo => this.#infos[id] ?? NO_FRAMES;

  #module(runtime: Runtime, named: string): ModuleFunctions {
    const modules = innerMap(this.#modules, runtime);
    const known = modules.get(named);
    if (known) return known;
    this.#characters += named.length;
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
