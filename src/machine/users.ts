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

/** The user and group by whom sudo was called for this program to be root; undefined where nobody called it. */
export function sudoCaller({
  SUDO_UID,
  SUDO_GID,
}: NodeJS.ProcessEnv): { readonly uid: number; readonly gid: number } | undefined {
  const [uid, gid] = [Number(SUDO_UID), Number(SUDO_GID)];
  if (process.geteuid?.() !== 0 || !SUDO_UID || !SUDO_GID) return undefined;
  if (!Number.isInteger(uid) || !Number.isInteger(gid) || uid <= 0 || gid < 0) return undefined;
  return { uid, gid };
}

/** One user, as /etc/passwd has it now. */
export const userOf = (uid: number): User | undefined => readUsers("/etc/passwd").get(uid);
