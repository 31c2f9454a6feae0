/** The part of the addon that reads tables of precompiled .NET code. */

/** Which method each function of an image is the body of (native/dotnet/method_list.h). */
export interface FunctionMethods {
  /** RVAs of the functions, as the image has them: ascending. */
  readonly begins: Uint32Array;
  /**
   * Methods by the index of the function that is their body. A definition is 2 * its row; an instance is 2 * the
   * place of its signature + 1; 0 stands for funclets and what is not known.
   */
  readonly methods: Uint32Array;
  /** Numbers of the assemblies of the definitions; empty in an image of one. */
  readonly components: Uint16Array;
  /** All instances could be read: no function of one is taken for a funclet of the method before it. */
  readonly isWhole: boolean;
}

export interface MethodFinder {
  /**
   * Reads tables of an image, a file or memory of the user `owner`: those of its functions, of its generic instances,
   * and of the definitions of each assembly whose code it holds. A program without rights reads them, and is
   * waited for: two milliseconds for the largest of the framework. Returns why they cannot be read where they cannot.
   */
  find(
    owner: number,
    functions: Buffer,
    instances: Buffer,
    definitions: readonly Buffer[],
  ): FunctionMethods | string;
}
