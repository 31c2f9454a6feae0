/** Kernels with nothing but busybox and the tar file, each in a virtual machine. */
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { env } from "node:process";
import { Lacking } from "../../support/measure.ts";
import { root } from "../../support/polytop.ts";

/** Debian's kernels 5.10, 6.1 and 6.12; those of `npm run kernels`. */
export const SUITES = ["bullseye", "bookworm", "trixie"];
const cache = env.POLYTOP_KERNELS ?? `${homedir()}/.cache/polytop/kernels`;
const QEMU = "qemu-system-x86_64";
const TIMEOUT_MS = 900_000;

/** Appends the tar file and the first process to the suite's initramfs: archives of cpio may follow each other. */
function makeInitrd(suite: string, tarFile: string, folder: string): string {
  const tree = join(folder, "tree");
  mkdirSync(tree);
  copyFileSync(tarFile, join(tree, `polytop.tar.${tarFile.split(".").at(-1)}`));
  copyFileSync(join(root, "test/tools/release/guest-init"), join(tree, "guest-init"));
  const initrd = join(folder, "initrd");
  const pack = 'cp "$1" "$2" && cd "$3" && find . | busybox cpio -o -H newc 2>/dev/null >>"$2"';
  execFileSync("sh", ["-c", pack, "sh", `${cache}/${suite}/initramfs`, initrd, tree]);
  return initrd;
}

/** Boots it; resolves to what its checks wrote to the console: a name, a status and a word for each. */
export async function boot(suite: string, tarFile: string): Promise<Map<string, string>> {
  if (!existsSync(`${cache}/${suite}/initramfs`))
    throw new Lacking(`npm run kernels ${suite}, which fetches the kernel`);
  const folder = mkdtempSync(join(tmpdir(), "polytop-bare-"));
  try {
    const initrd = makeInitrd(suite, tarFile, folder);
    const args = [
      ...["-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "2G"],
      ...["-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio"],
      ...["-kernel", `${cache}/${suite}/vmlinuz`, "-initrd", initrd],
      ...["-append", "console=ttyS0 quiet panic=-1 rdinit=/guest-init"],
    ];
    const console = await run(args);
    const said = [...console.matchAll(/^CHECK (.*?): (\d+) (.*?)\r?$/gm)].map((it) => [...it]);
    if (said.length === 0) throw new Error(`nothing was said: ${console.slice(-1500)}`);
    const [, live = ""] = /LIVE BEGINS([\s\S]*)LIVE ENDS/.exec(console) ?? [];
    if (!/SELF/.test(live)) said.push(["", "live in a terminal", "1", "no table was drawn"]);
    return new Map(
      said.map(([, name = "", status = "", words = ""]) => [name, `${status} ${words}`]),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function run(args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn("nice", [QEMU, ...args], { stdio: ["ignore", "pipe", "inherit"] });
    const timer = setTimeout(() => child.kill("SIGKILL"), TIMEOUT_MS);
    let console = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      console += text;
    });
    child.on("error", reject);
    child.on("close", () => {
      clearTimeout(timer);
      resolve(console);
    });
  });
}
