/** A machine on which nothing stays as it is: twenty users' processes, builds, generated code, containers. */
import { chmodSync, copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compileLoop, perlLoop, shortLoop } from "../../../support/loads.ts";
import { type Running, sleep, start } from "../../../support/profile.ts";
import { workload } from "../../../support/workloads.ts";

const USERS = 20;
const FIRST_USER = 64_100;
/** Each of the busy kinds runs so long before the next one does. */
const TURN_SECONDS = 15;

/** Subs of names that no other process has. */
const PERL = `my $code = join "", map { my $name = "made_\${$}_$_"; "sub $name { my \\$n = 0; \\$n += \\$_ for 1 .. 400; \\$n } $name(); " } 1 .. 20;
eval $code for 1 .. 150`;

/** Functions that are compiled, run and dropped, again and again. */
const GENERATED = `let round = 0;
const again = () => {
  for (let at = 0; at < 30; at++) {
    const name = "generated_" + round + "_" + at;
    const made = new Function("n", "return function " + name + "() { let s = 0; for (let i = 0; i < n; i++) s += i % 7; return s; }")(20000);
    for (let call = 0; call < 20; call++) made();
  }
  round++;
  setTimeout(again, 5);
};
again();`;

/** Another file system each time, as a container has: the program in it was never seen before. */
const CONTAINER = `while kill -0 $PPID 2>/dev/null; do
  unshare --mount --pid --uts --ipc --fork --mount-proc sh -c '
    mount -t tmpfs none /mnt && cp "$0" /mnt/contained && { timeout 1 /mnt/contained; timeout 1 perl -e "sub contained { 1 for 1 .. 1000 } contained() while 1"; }' "$0"
  sleep 1
done`;

const USER = `while kill -0 $PPID 2>/dev/null; do
  timeout 0.3 "$0"
  perl -e '${PERL.replaceAll("'", "")}'
  sleep 3
done`;

/** Starts a user's processes, which live a part of a second each. */
function user(number: number, program: string): Running {
  const uid = String(FIRST_USER + number);
  const identity = ["--reuid", uid, "--regid", uid, "--clear-groups"];
  return start("/usr/bin/setpriv", [...identity, "/bin/sh", "-c", USER, program]);
}

export class Churn {
  readonly #folder = mkdtempSync(join(tmpdir(), "polytop-soak-"));
  readonly #always: Running[] = [];
  #turn: Promise<void> = Promise.resolve();
  #isEnding = false;

  start(): void {
    chmodSync(this.#folder, 0o755);
    const program = join(this.#folder, "split");
    copyFileSync(workload("split.c"), program);
    chmodSync(program, 0o755);
    for (let number = 0; number < USERS; number++) this.#always.push(user(number, program));
    this.#always.push(start("/bin/sh", ["-c", CONTAINER, program]));
    this.#turn = this.#takeTurns();
  }

  async #takeTurns(): Promise<void> {
    const kinds = [
      compileLoop,
      perlLoop,
      () => start(process.execPath, ["-e", GENERATED]),
      shortLoop,
    ];
    for (let number = 0; !this.#isEnding; number++) {
      const running = kinds[number % kinds.length]?.();
      for (let second = 0; second < TURN_SECONDS && !this.#isEnding; second++) await sleep(1);
      await running?.stop();
    }
  }

  async stop(): Promise<void> {
    this.#isEnding = true;
    await this.#turn;
    await Promise.all(this.#always.map((it) => it.stop()));
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
