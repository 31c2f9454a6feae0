/** How texts mark a function that awaits what is further in. */

/** Before its name, where people read it. */
const AWAITS_MARK = "~";
/** Behind its name in collapsed stacks, as `_[k]` is behind a function of the kernel. */
export const AWAITS_SUFFIX = "_[a]";

/** A name as people read it. */
export const markedName = (name: string, awaits: boolean): string =>
  awaits ? AWAITS_MARK + name : name;
