/** The folder as tar files: xz, the smallest, and gzip, for systems that have no xz. */
import { join } from "node:path";
import { OUT, type ReleaseFacts } from "../facts.ts";
import { sh } from "../shell.ts";
import { TREE } from "../tree.ts";

/** Options of tar by which the same files are the same bytes. */
export const SAME_BYTES =
  "--sort=name --owner=0 --group=0 --numeric-owner --format=gnu --mtime=@$SOURCE_DATE_EPOCH";

/** Compressors by the end of the name. One thread: with more the bytes depend on their number. No filter: busybox knows none. */
const COMPRESSORS = { xz: "nice xz -T1 -9", gz: "gzip -9n" };
const QUICK = { xz: "xz -T1 -1", gz: "gzip -1n" };

/** Writes one of them. */
export async function makeTarball(
  end: keyof typeof COMPRESSORS,
  facts: ReleaseFacts,
): Promise<void> {
  const { version, epoch, isQuick } = facts;
  const into = join(OUT, `polytop-${version}-linux-x64.tar.${end}`);
  const compressor = (isQuick ? QUICK : COMPRESSORS)[end];
  const env = { SOURCE_DATE_EPOCH: String(epoch) };
  await sh(`tar ${SAME_BYTES} -C "$1" -c polytop | ${compressor}`, [join(TREE, "..")], {
    env,
    into,
  });
}
