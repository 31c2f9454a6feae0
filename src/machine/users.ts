/** The users of this machine. */
import { readFileSync } from "node:fs";

/** A user of this machine. */
export interface User {
  readonly name: string;
  readonly home: string;
  readonly shell: string;
}

/** Users by their numbers, of a file as passwd(5) describes it; none without the file. */
function readUsers(path: string): Map<number, User> {
  const users = new Map<number, User>();
  try {
    for (const line of readFileSync(path, "utf8").split("\n")) {
      const [name, , id, , , home = "", shell = ""] = line.split(":");
      if (name && id) users.set(Number(id), { name, home, shell });
    }
  } catch {
    // Without the file users are known by their numbers.
  }
  return users;
}

/** Names of users from /etc/passwd, read once; one that is not there has none. */
export function userNames(path = "/etc/passwd"): (uid: number) => string | undefined {
  let users: Map<number, User> | undefined;
  return (uid) => {
    users ??= readUsers(path);
    return users.get(uid)?.name;
  };
}

/** One user, as /etc/passwd has it now. */
export const userOf = (uid: number): User | undefined => readUsers("/etc/passwd").get(uid);
