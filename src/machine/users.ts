import { readFileSync } from "node:fs";

/** Names of users from /etc/passwd, read once; one that is not there has none. */
export function userNames(path = "/etc/passwd"): (uid: number) => string | undefined {
  let names: Map<number, string> | undefined;
  return (uid) => {
    if (!names) {
      names = new Map();
      try {
        for (const line of readFileSync(path, "utf8").split("\n")) {
          const [name, , id] = line.split(":");
          if (name && id) names.set(Number(id), name);
        }
      } catch {
        // Without the file users are known by their numbers.
      }
    }
    return names.get(uid);
  };
}
