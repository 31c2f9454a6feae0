/** Functions by their names: each different one has one id. */
import { cleanName } from "../tick/clean-name.ts";
import { NumberMap } from "../tick/columns/number-map.ts";
import { FIRST_FUNCTION, NO_FRAMES, STAND_INS } from "../tick/functions.ts";
import type { Runtime } from "../tick/runtimes.ts";
import type { FunctionInfo } from "../tick/tick.ts";
import type { NamedFunction } from "./reader.ts";

/** The functions of a module. */
interface ModuleFunctions {
  readonly runtime: Runtime;
  /** The clean name. */
  readonly module: string;
  /** The names that it came with. */
  aliases: string[];
  /** Of all its aliases. */
  characters: number;
  /** Functions by their clean names. */
  readonly functions: Map<string, KnownFunction>;
  /** How many of them are not forgotten. */
  count: number;
}

interface KnownFunction {
  info: FunctionInfo;
  readonly owner: ModuleFunctions;
  /** The round of forgetting that it outlived last, or that it came behind: it is forgotten where another is the latest. */
  round: number;
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
 * Within a minute only so many times as much are a reason: forgetting has all that runs walked and entered again, and
 * the heap compacted.
 */
const SOON = { milliseconds: 60_000, times: 3 };
/** So many times as much are told apart until then: one refresh of many CPUs may bring that. */
const AT_MOST = 8;
/** So many that were forgotten last are known if they come again: an attacker may make thousands a second. */
const MOST_FORGOTTEN = { functions: 20_000, characters: 2_000_000 };
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
  /** Those that have ids, in no order, and for each id its place there. */
  readonly #known: KnownFunction[] = [];
  readonly #places = new NumberMap();
  /** How many are not forgotten, and the characters of their names and their modules'. */
  #functions = 0;
  #characters = 0;
  /** Those that were forgotten, in that order, and the characters of their names. */
  readonly #forgotten = new Set<KnownFunction>();
  #forgottenCharacters = 0;
  /** What was in stacks when functions were forgotten last: it cannot be helped. */
  #kept = { functions: 0, characters: 0 };
  #forgotAt = 0;
  /** How often functions were forgotten. */
  #round = 0;

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
      this.#functions >= functions + times * MANY_FUNCTIONS ||
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
    const owner = this.#module(runtime, named.module);
    const name = cleanName(named.name);
    const known = owner.functions.get(name);
    if (known?.round === this.#round) {
      if (explain(known, whyUnnamed)) this.#added.push(known.info);
      return known.info.id;
    }
    if (!isStandIn && this.isFull) return this.#other(runtime);
    if (known) {
      this.#forgotten.delete(known);
      this.#forgottenCharacters -= charactersOf(known.info);
      explain(known, whyUnnamed);
      return this.#add(known);
    }
    const unnamed = whyUnnamed === undefined ? {} : { whyUnnamed };
    const info = { id: this.#next++, runtime, name, module: owner.module, ...unnamed };
    const made = { info, owner, round: this.#round };
    owner.functions.set(name, made);
    this.#places.set(info.id, this.#known.length);
    this.#known.push(made);
    return this.#add(made);
  }

  #other(runtime: Runtime): number {
    const whyUnnamed = "more new functions ran in a moment than are told apart";
    return this.intern({ runtime, name: TOO_MANY, module: "", whyUnnamed });
  }

  #add(known: KnownFunction): number {
    const { info, owner } = known;
    known.round = this.#round;
    this.#added.push(info);
    this.#functions++;
    this.#characters += info.name.length + (owner.count === 0 ? owner.characters : 0);
    owner.count++;
    return info.id;
  }

  /** Returns the function of an id. */
  readonly info = (id: number): FunctionInfo => this.#of(id)?.info ?? STAND_INS[id] ?? NO_FRAMES;

  /** Says of the id of a function whether it was not forgotten. */
  readonly isKept = (id: number): boolean => this.#of(id)?.round === this.#round;

  #of(id: number): KnownFunction | undefined {
    const place = this.#places.get(id);
    return place < 0 ? undefined : this.#known[place];
  }

  /**
   * Forgets all functions but these, and returns the ids of those that it forgot. They may come again: the latest
   * under the same ids, so that they are what they were to whoever still holds them. No id is given to another one.
   */
  forget(kept: ArrayLike<number>, now: number): number[] {
    this.#forgotAt = now;
    const before = this.#round++;
    for (let at = 0; at < kept.length; at++) {
      const known = this.#of(kept[at] ?? 0);
      if (known?.round === before) known.round = this.#round;
    }
    const forgotten: number[] = [];
    for (const known of this.#known) {
      if (known.round !== before) continue;
      this.#forget(known);
      forgotten.push(known.info.id);
    }
    this.#boundForgotten();
    for (const modules of this.#cleanModules.values())
      for (const owner of modules.values()) this.#forgetAliases(owner);
    this.#kept = { functions: this.#functions, characters: this.#characters };
    return forgotten;
  }

  #forget(known: KnownFunction): void {
    const { info, owner } = known;
    owner.count--;
    this.#functions--;
    this.#characters -= info.name.length + (owner.count === 0 ? owner.characters : 0);
    this.#forgotten.add(known);
    this.#forgottenCharacters += charactersOf(info);
  }

  /** The oldest come first. */
  #boundForgotten(): void {
    const { functions, characters } = MOST_FORGOTTEN;
    for (const known of this.#forgotten) {
      if (this.#forgotten.size <= functions && this.#forgottenCharacters <= characters) return;
      const { info, owner } = known;
      this.#forgotten.delete(known);
      this.#forgottenCharacters -= charactersOf(info);
      this.#takeOut(info.id);
      owner.functions.delete(info.name);
      if (owner.functions.size === 0) this.#removeModule(owner);
    }
  }

  /** The last one comes to its place. */
  #takeOut(id: number): void {
    const place = this.#places.get(id);
    const last = this.#known.pop();
    this.#places.delete(id);
    if (!last || last.info.id === id) return;
    this.#known[place] = last;
    this.#places.set(last.info.id, place);
  }

  #removeModule(owner: ModuleFunctions): void {
    this.#cleanModules.get(owner.runtime)?.delete(owner.module);
    for (const alias of owner.aliases) this.#modules.get(owner.runtime)?.delete(alias);
  }

  /** Only the clean name of a module stays: a program may make ever new ones that are the same when they are clean. */
  #forgetAliases(owner: ModuleFunctions): void {
    const { runtime, module, aliases } = owner;
    if (aliases.length === 1 && aliases[0] === module) return;
    for (const alias of aliases) this.#modules.get(runtime)?.delete(alias);
    this.#modules.get(runtime)?.set(module, owner);
    owner.aliases = [module];
    if (owner.count > 0) this.#characters -= owner.characters - module.length;
    owner.characters = module.length;
  }

  #module(runtime: Runtime, named: string): ModuleFunctions {
    const modules = innerMap(this.#modules, runtime);
    const known = modules.get(named);
    if (known) return known;
    const module = cleanName(named);
    const clean = innerMap(this.#cleanModules, runtime);
    const owner = clean.get(module) ?? newModule(runtime, module);
    clean.set(module, owner);
    modules.set(named, owner);
    owner.aliases.push(named);
    owner.characters += named.length;
    if (owner.count > 0) this.#characters += named.length;
    return owner;
  }

  /** Returns the functions that were added since the last call. */
  takeAdded(): FunctionInfo[] {
    const added = this.#added;
    this.#added = [];
    return added;
  }
}

const newModule = (runtime: Runtime, module: string): ModuleFunctions => ({
  runtime,
  module,
  aliases: [],
  characters: 0,
  functions: new Map(),
  count: 0,
});

/** A function whose name was not read in time may be known to have none later. Says whether the reason is another one. */
function explain(known: KnownFunction, whyUnnamed: string | undefined): boolean {
  if (whyUnnamed === undefined || whyUnnamed === known.info.whyUnnamed) return false;
  known.info = { ...known.info, whyUnnamed };
  return true;
}

/** Of a function that was forgotten: its module may have gone but for it. */
const charactersOf = ({ name, module }: FunctionInfo): number => name.length + module.length;

/** The map at a key, made where there is none yet. */
function innerMap<Key, K, V>(maps: Map<Key, Map<K, V>>, key: Key): Map<K, V> {
  const known = maps.get(key);
  if (known) return known;
  const made = new Map<K, V>();
  maps.set(key, made);
  return made;
}
