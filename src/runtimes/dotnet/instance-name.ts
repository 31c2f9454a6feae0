/** Names precompiled generic instances, and tells what they were compiled for. */
import { type GenericArgument, paired } from "./generic-arguments.ts";
import type { MethodInstance, ModuleIndex, SignatureType } from "./instance-signature.ts";
import { readOr, Unreadable } from "./memory.ts";
import type { Metadata } from "./metadata.ts";

/** A method of an image by name. */
export interface ImageMethod {
  readonly name: string;
  readonly module: string;
  /** What a generic instance was compiled for, where that is certain. */
  readonly genericArguments?: readonly GenericArgument[];
}

/** An assembly that an image has code of. */
export interface ImageModule {
  /** Simple name of the assembly. */
  readonly name: string;
  readonly metadata: Metadata;
}

/** Finds an assembly by the index that signatures have; throws Unreadable where one cannot be read. */
export type FindModule = (index: ModuleIndex) => ImageModule;

/** Names a generic instance; throws Unreadable where its method cannot be told. */
export function instanceMethod(instance: MethodInstance, find: FindModule): ImageMethod {
  const { name: module, metadata } = find(instance.module);
  if (instance.isMemberRef) {
    const { type, name } = metadata.memberRef(instance.row);
    return { name: `${type.name}.${name}`, module: type.assembly || module };
  }
  const row = metadata.typeOfMethod(instance.row);
  const { type, name } = metadata.method(instance.row);
  if (!isOwner(instance.owner, row, type))
    throw new Unreadable("its image names a method that is not of its type");
  const genericArguments = argumentsOf(instance, metadata, row, find);
  return { name: `${type}.${name}`, module, genericArguments };
}

function isOwner(owner: SignatureType | undefined, row: number, type: string): boolean {
  if (owner === undefined) return true;
  if ("name" in owner) return owner.name === type;
  // The two low bits say that it is a definition.
  return "token" in owner && owner.token === row * 4;
}

/** The arguments of an instance; none where one of them cannot be told. */
function argumentsOf(
  { owner, row, methodArguments }: MethodInstance,
  metadata: Metadata,
  type: number,
  find: FindModule,
): readonly GenericArgument[] {
  const ofType = owner !== undefined && "token" in owner ? owner.typeArguments : [];
  const names = (types: readonly SignatureType[]): string[] => types.map((it) => nameOf(it, find));
  return readOr(
    () => [
      ...paired("type", metadata.genericParameters("type", type), names(ofType)),
      ...paired("method", metadata.genericParameters("method", row), names(methodArguments)),
    ],
    [],
  );
}

/** Spells a type: `System.Collections.Generic.KeyValuePair`2[System.Int32,System.__Canon][]` */
function nameOf(type: SignatureType, find: FindModule): string {
  if ("name" in type) return type.name;
  if ("element" in type) return nameOf(type.element, find) + type.suffix;
  const { name } = find(type.module).metadata.typeOfToken(type.token);
  if (type.typeArguments.length === 0) return name;
  return `${name}[${type.typeArguments.map((it) => nameOf(it, find)).join(",")}]`;
}
