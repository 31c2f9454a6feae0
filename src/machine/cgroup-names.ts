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

/** What the path of a control group says; what is empty is none. */
export interface CgroupName {
  /** A container or pod. */
  readonly container: string;
  /** The unit of systemd that is nearest to the process; a slice only says where units are. */
  readonly unit: string;
  /** What says most: the container, else the unit, else the last part of the path. */
  readonly group: string;
}

/** Reads a path like `/system.slice/nginx.service`. */
export function describeCgroup(path: string): CgroupName {
  const clean = path.replace(/\/+$/, "");
  const container = containerOf(clean);
  const parts = clean.split("/").filter((part) => part !== "");
  const unit = parts.findLast((part) => UNIT.test(part) && !part.endsWith(".slice")) ?? "";
  const last = unit || (parts.at(-1) ?? "");
  const group = BARE_ID.test(last) ? last.slice(0, 12) : unescapeUnit(last);
  return { container, unit: unescapeUnit(unit), group: container || group };
}

function containerOf(path: string): string {
  const pod = POD.exec(path)?.[1];
  if (pod) {
    const container = CONTAINER_ID.exec(path.replace(/\.scope$/, "").replace(/-(?=[^-]*$)/, "/"));
    return container?.[1] ? `pod ${pod}/${container[1].slice(0, 12)}` : `pod ${pod}`;
  }
  for (const [pattern, engine] of ENGINES) {
    const id = pattern.exec(path)?.[1];
    if (id) return `${engine} ${id.slice(0, 12)}`;
  }
  const lxc = LXC.exec(path)?.[1];
  return lxc ? `lxc ${lxc}` : "";
}
