/** How a virtual machine reaches the files of the one around it: by 9p, or by virtiofs where its kernel has no 9p. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sleep } from "../../support/profile.ts";

/** Where Debian 12 has it (qemu-system-common), and later ones (virtiofsd). */
const DAEMONS = ["/usr/lib/qemu/virtiofsd", "/usr/libexec/virtiofsd"];

/** Until the daemon has made its socket. */
const PATIENCE_MS = 10_000;

export interface SharedFiles {
  /** QEMU's arguments: memory, and the device whose mark is `machine`. */
  readonly args: readonly string[];
  close(): void;
}

/** Debian builds kernels for clouds without 9p. */
const hasNinep = (kernel: string): boolean => !kernel.endsWith("-cloud");

/** Shares this machine's files, which the virtual one mounts read-only. `memory`: how much that one has, as QEMU takes it. */
export async function shareFiles(kernel: string, memory: string): Promise<SharedFiles> {
  if (hasNinep(kernel)) {
    const device = "local,path=/,mount_tag=machine,security_model=none,readonly=on,multidevs=remap";
    return { args: ["-m", memory, "-virtfs", device], close: () => {} };
  }
  const program = DAEMONS.find((path) => existsSync(path));
  if (program === undefined) throw new Error("virtiofsd is missing: apt-get install virtiofsd");
  const folder = mkdtempSync(join(tmpdir(), "polytop-virtiofs-"));
  const socket = join(folder, "socket");
  const daemon = spawn(program, [`--socket-path=${socket}`, "-o", "source=/,cache=always"], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const close = (): void => end(daemon, folder);
  for (let waited = 0; !existsSync(socket); waited += 100) {
    if (waited > PATIENCE_MS || daemon.exitCode !== null) {
      close();
      throw new Error(`${program} did not start`);
    }
    await sleep(0.1);
  }
  // The daemon reads and writes the memory of the virtual machine.
  const backend = `memory-backend-memfd,id=memory,size=${memory},share=on`;
  return {
    args: [
      ...["-m", memory, "-object", backend, "-numa", "node,memdev=memory"],
      ...["-chardev", `socket,id=files,path=${socket}`],
      ...["-device", "vhost-user-fs-pci,chardev=files,tag=machine"],
    ],
    close,
  };
}

function end(daemon: ChildProcess, folder: string): void {
  daemon.kill();
  rmSync(folder, { recursive: true, force: true });
}
