/** Where programs of this user keep what they can make again, as the XDG base directory specification has it. */

type Environment = Readonly<Record<string, string | undefined>>;

/** Root's is the machine's own (file-hierarchy(7)): HOME may be that of the user who became root. Empty: there is none. */
export function cacheFolder(
  { XDG_CACHE_HOME: chosen, HOME: home }: Environment,
  uid: number | undefined,
): string {
  if (chosen?.startsWith("/")) return chosen;
  if (uid === 0) return "/var/cache";
  return home?.startsWith("/") ? `${home}/.cache` : "";
}
