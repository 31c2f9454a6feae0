/** Functions by their names: each different one has one id, until it is forgotten. */
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
 * When so many functions, or characters of their names, came since the last time, those are forgotten that are in no
 * stack any more: a machine that builds and runs ever other programs has new ones all the time. They take 2 MB, and
 * stay for two rounds. Rounds of 10,000 took 18 to 30 minutes beside builds and twenty users: large tables still grew
 * there in the second hour.
 */
const MANY_FUNCTIONS = 5000;
const MANY_CHARACTERS = 500_000;
/**
 * Within a minute only so many times as much are a reason: forgetting costs all that is met again, and a compaction of
 * the heap.
 */
const SOON = { milliseconds: 60_000, times: 3 };
/** So many times as much are told apart until then: one refresh of many CPUs may bring that. */
const AT_MOST = 8;
/** The highest number that a tree of functions holds (PrefixTree). */
const LAST_ID = 2 ** 31 - 1;
/** What stands for the others of a runtime. */
const TOO_MANY = "[too many functions]";

/** Gives ids to functions, upwards from the first that is free. */
export class FunctionTable {
  /** Modules by runtime and the name that they came with. */
  readonly #modules = new Map<Runtime, Map<string, ModuleFunctions>>();
  /** The same modules by runtime and clean name. */
  readonly #cleanModules = new Map<Runtime, Map<string, ModuleFunctions>>();
  #next = FIRST_FUNCTION;
  #added: FunctionInfo[] = [];
  readonly #infos = new Map(STAND_INS.map((info) => [info.id, info]));
  #characters = 0;
  /** What was in stacks when functions were forgotten last: it cannot be helped. */
  #kept = { functions: 0, characters: 0 };
  #forgotAt = 0;

  /** Says whether further functions are not told apart. */
  get isFull(): boolean {
    return this.#exceeds(AT_MOST) || this.#next > LAST_ID;
  }

  /** Says whether functions should be forgotten; `now` is in milliseconds since about the start. */
  isLarge(now: number): boolean {
    return this.#exceeds(now - this.#forgotAt < SOON.milliseconds ? SOON.times : 1);
  }

  #exceeds(times: number): boolean {
    const { functions, characters } = this.#kept;
    return (
      this.#infos.size >= functions + times * MANY_FUNCTIONS ||
      this.#characters >= characters + times * MANY_CHARACTERS
    );
  }

  /** Returns the id of a function; its names are cleaned here, once. */
  intern(named: NamedFunction): number {
    const { runtime, whyUnnamed } = named;
    const isStandIn = named.name === TOO_MANY;
    // A module would take room too.
    if (!isStandIn && this.isFull && !this.#modules.get(runtime)?.has(named.module))
      return this.#other(runtime);
    const { module, ids } = this.#module(runtime, named.module);
    const name = cleanName(named.name);
    const known = ids.get(name);
    if (known !== undefined) return known;
    if (!isStandIn && this.isFull) return this.#other(runtime);
    const id = this.#next++;
    this.#characters += name.length;
    ids.set(name, id);
    const unnamed = whyUnnamed === undefined ? {} : { whyUnnamed };
    const info = { id, runtime, name, module, ...unnamed };
    this.#added.push(info);
    this.#infos.set(id, info);
    return id;
  }

  #other(runtime: Runtime): number {
    const whyUnnamed = "more new functions ran in a moment than are told apart";
    return this.intern({ runtime, name: TOO_MANY, module: "", whyUnnamed });
  }

  /** Returns the function of an id. */
  readonly info = (id: number): FunctionInfo => this.#infos.get(id) ?? NO_FRAMES;

  /** Forgets all functions but these, and returns the ids that were theirs: they are not given again. */
  forget(kept: ReadonlySet<number>, now: number): number[] {
    this.#forgotAt = now;
    const forgotten: number[] = [];
    this.#modules.clear();
    this.#cleanModules.clear();
    this.#characters = 0;
    for (const [id, info] of this.#infos) {
      if (id < FIRST_FUNCTION) continue;
      if (kept.has(id)) {
        this.#module(info.runtime, info.module).ids.set(info.name, id);
        this.#characters += info.name.length;
        continue;
      }
      this.#infos.delete(id);
      forgotten.push(id);
    }
    this.#kept = { functions: this.#infos.size, characters: this.#characters };
    return forgotten;
  }

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
