/**
 * Short names of control groups: what a path below /sys/fs/cgroup says to somebody who runs
 * containers. The forms are those of the cgroupfs and systemd drivers of the container engines
 * (docker, podman, containerd, CRI-O), of Kubernetes, LXC, and of systemd.unit(5).
 */

const HEX = "[0-9a-f]{12,64}";
const ENGINES: readonly (readonly [RegExp, string])[] = [
  [new RegExp(`/docker[-/](${HEX})(?:\\.scope)?$`), "docker"],
  [new RegExp(`/libpod-(${HEX})(?:\\.scope)?(?:/container)?$`), "podman"],
  [new RegExp(`/libpod(?:_parent)?/(?:libpod-)?(${HEX})$`), "podman"],
  [new RegExp(`/(?:cri-containerd|containerd|nerdctl)[-/](${HEX})(?:\\.scope)?$`), "containerd"],
  [new RegExp(`/crio-(${HEX})(?:\\.scope)?$`), "crio"],
];
const POD = /\/(?:kubepods[^/]*-)?pod([0-9a-f]{8})[-_0-9a-f]*(?:\.slice)?(?:\/|$)/;
const LXC = /\/(?:lxc\.payload\.|lxc\/|lxc\.payload\/)([^/]+)/;
const CONTAINER_ID = new RegExp(`/(${HEX})$`);
const BARE_ID = /^[0-9a-f]{24,64}$/;
const UNIT = /^(.+\.(?:service|scope|socket|mount|swap|slice))$/;

/** systemd writes characters that are special to it as `\x2d`. */
const unescapeUnit = (name: string): string =>
  name.replace(/\\x([0-9a-f]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );

/** Returns the short name of a path like `/system.slice/nginx.service`; empty for the root. */
export function shortCgroup(path: string): string {
  const clean = path.replace(/\/+$/, "");
  if (clean === "") return "";
  const pod = POD.exec(clean)?.[1];
  if (pod) {
    const container = CONTAINER_ID.exec(clean.replace(/\.scope$/, "").replace(/-(?=[^-]*$)/, "/"));
    return container?.[1] ? `pod ${pod}/${container[1].slice(0, 12)}` : `pod ${pod}`;
  }
  for (const [pattern, engine] of ENGINES) {
    const id = pattern.exec(clean)?.[1];
    if (id) return `${engine} ${id.slice(0, 12)}`;
  }
  const lxc = LXC.exec(clean)?.[1];
  if (lxc) return `lxc ${lxc}`;
  const parts = clean.split("/").filter((part) => part !== "");
  // The unit that is nearest to the process says most; a slice only says where units are.
  const unit = parts.findLast((part) => UNIT.test(part) && !part.endsWith(".slice"));
  const last = unit ?? parts.at(-1) ?? "";
  return BARE_ID.test(last) ? last.slice(0, 12) : unescapeUnit(last);
}
