import { expect, test } from "vitest";
import { counters } from "../../../bpf/counters.json" with { type: "json" };
import { describeCgroup } from "../../../src/machine/cgroup-names.ts";
import { CgroupNames, cgroupPath } from "../../../src/machine/cgroups.ts";
import { aggregate } from "../../../src/model/aggregate.ts";
import { blame } from "../../../src/model/blame.ts";
import { compare } from "../../../src/model/changes.ts";
import { parseFilter } from "../../../src/model/filter/filter.ts";
import { threadRows } from "../../../src/model/threads.ts";
import { complete } from "../../../src/screen/state/complete.ts";
import { completePrompt, withPromptText } from "../../../src/screen/state/prompt.ts";
import { initialState } from "../../../src/screen/state/state.ts";
import { enterMode } from "../../../src/screen/state/transitions.ts";
import { Family } from "../../../src/tick/family.ts";
import { makeTick, TickMaker, task } from "../../support/ticks.ts";

const SHOW = { kernel: true, nativeFrames: false };
const ID = "0123456789abcdef".repeat(4);

test.each([
  ["/", ""],
  ["/system.slice/nginx.service", "nginx.service"],
  ["/user.slice/user-1000.slice/user@1000.service/app.slice/my\\x2dapp.service", "my-app.service"],
  [`/system.slice/docker-${ID}.scope`, "docker 0123456789ab"],
  [`/docker/${ID}`, "docker 0123456789ab"],
  [`/machine.slice/libpod-${ID}.scope/container`, "podman 0123456789ab"],
  [
    `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1a2b3c4d_1111_2222.slice/cri-containerd-${ID}.scope`,
    "pod 1a2b3c4d/0123456789ab",
  ],
  ["/lxc.payload.web/system.slice", "lxc web"],
  [`/some/${ID}`, "0123456789ab"],
])("the control group %s is called %j", (path, name) => {
  expect(describeCgroup(path).group).toBe(name);
});

test("a control group is read once, and without the unified hierarchy once a process", () => {
  const texts = ["0::/a.service\n", "4:memory:/b\n0::/\n"];
  let reads = 0;
  const names = new CgroupNames((pid) => {
    reads++;
    return texts[pid] ?? "";
  });
  const at = (pid: number, cgroup: string) => names.describe({ pid, startTime: 1, cgroup }).group;
  expect([at(0, "7"), at(5, "7"), at(1, "1"), at(1, "1"), at(9, "1")]).toEqual([
    "a.service",
    "a.service",
    "b",
    "b",
    "",
  ]);
  expect(reads).toBe(3);
  expect(cgroupPath("x")).toEqual({ path: "", isUnified: false });
});

test("a family holds who was started by somebody that was never sampled", () => {
  const family = new Family();
  const child = task(60, "cc1", { parentPid: 50 });
  for (const one of [child, task(50, "sh", { parentPid: 40 })]) family.register(one);
  expect(family.isBelow(child, 40)).toBe(true);
  expect(family.isBelow(child, 41)).toBe(false);
  // Its parent ended: it is still below.
  expect(family.isBelow({ ...child, parentPid: 1 }, 40)).toBe(true);
  const ring = new Family();
  for (const pid of [1, 2]) ring.register(task(pid, "x", { parentPid: 3 - pid }));
  expect(ring.isBelow(task(3, "x", { parentPid: 1 }), 9)).toBe(false);
  const parsed = parseFilter("tree:40 !thread:idle");
  if ("error" in parsed) throw new Error(parsed.error);
  expect(parsed.filter.matchesTask(child, family)).toBe(true);
  expect(parsed.filter.matchesTask({ ...child, thread: "idle" }, family)).toBe(false);
});

test("Tab offers pids, commands, languages and keys", () => {
  const facts = {
    processes: [
      { pid: 42, comm: "perl", command: "/usr/bin/perl /srv/ledger.pl", user: "shop" },
      { pid: 421, comm: "Web Content", command: "firefox" },
      { pid: 77, comm: "idler", command: "/usr/bin/idler" },
    ],
    threads: ["main"],
  };
  const words = (mode: "pid" | "filter", text: string) => complete(mode, text, facts).words;
  expect(words("pid", "42")).toEqual(["42", "421"]);
  expect(words("pid", "7,pe")).toEqual(["42"]);
  expect(words("pid", "ledger")).toEqual(["42"]);
  expect(complete("pid", "idl", facts).labels).toEqual(["77 /usr/bin/idler"]);
  expect(words("filter", 'comm:"Web C')).toEqual(['comm:"Web Content"']);
  expect(words("filter", "user:s")).toEqual(["user:shop"]);
  expect(words("filter", "x !comm:w")).toEqual(['!comm:"Web Content"']);
  expect(words("filter", "pid:7,42")).toEqual(["pid:7,42", "pid:7,421"]);
  expect(words("filter", "la")).toEqual(["lang:"]);
  expect(words("filter", "lang:d")).toEqual(["lang:dotnet"]);
  const start = initialState({ ...SHOW, filterText: "", pids: [], sort: "self", delaySeconds: 1 });
  const completion = complete("pid", "", facts);
  const once = completePrompt(enterMode(start, "pid"), completion);
  expect(once.prompt.text).toBe("42");
  const twice = completePrompt(once, completion);
  expect(twice.prompt.text).toBe("421");
  const third = completePrompt(twice, completion);
  expect(third.prompt.text).toBe("77");
  expect(completePrompt(third, completion).prompt.text).toBe("42");
});

test("Tab goes on in a value whose beginning is quoted", () => {
  const processes = ["svc a", "svc b"].map((comm, i) => ({ pid: i + 1, comm, command: "" }));
  const facts = { processes, threads: [] };
  const start = initialState({ ...SHOW, filterText: "", pids: [], sort: "self", delaySeconds: 1 });
  let state = withPromptText(enterMode(start, "filter"), "comm:sv");
  const texts = [1, 2, 3].map(() => {
    state = completePrompt(state, complete("filter", state.prompt.text, facts));
    return state.prompt.text;
  });
  expect(texts).toEqual(['comm:"svc ', 'comm:"svc a"', 'comm:"svc b"']);
});

test("threads of one name are one row, with their own runtimes", () => {
  const maker = new TickMaker();
  const [perl, native] = [maker.stack(["p:f"]), maker.stack(["n:g"], "broken")];
  const worker = (tid: number) => task(1, "srv", { tid, thread: "worker" });
  const tick = makeTick([
    { stack: perl, task: worker(2), count: 2 },
    { stack: native, task: worker(3), count: 1 },
    { stack: native, task: task(1, "srv"), count: 1 },
  ]);
  expect(threadRows([tick], SHOW).get(1)).toMatchObject([
    { thread: "worker", tids: [2, 3], samples: 3, complete: 2, runtimes: ["perl", "native"] },
    { thread: "srv", tids: [1], samples: 1, complete: 0 },
  ]);
});

test("what grew and what is gone since a mark", () => {
  const maker = new TickMaker();
  const [a, b] = [maker.stack(["n:a"]), maker.stack(["n:b"])];
  const at = (counts: readonly [typeof a, number][]) => {
    const tick = makeTick(counts.map(([stack, count]) => ({ stack, task: task(1, "x"), count })));
    const all = aggregate([tick], SHOW);
    return { rows: all.functions, samples: all.samples };
  };
  const then = at([
    [a, 5],
    [b, 5],
  ]);
  const changes = compare(at([[a, 4]]), then);
  const found = changes.rows.map((row) => [row.function.name, row.self, changes.of(row)]);
  expect(found).toEqual([
    ["a", 4, 50],
    ["b", 0, -50],
  ]);
});

test("a failing counter names its processes, functions and files", () => {
  const counter = counters.find(({ name }) => name === "UnwindNativeErrNoRow");
  if (!counter) throw new Error("no such counter");
  const maker = new TickMaker();
  const bad = maker.stack(["n:leaf@libc", "n:last@app", `n:[${counter.label}]`], "broken");
  const good = maker.stack(["n:leaf@libc", "n:main@app"]);
  const tick = makeTick([
    { stack: bad, task: task(7, "srv"), count: 3 },
    { stack: good, task: task(8, "other"), count: 9 },
  ]);
  expect(blame([tick], counter)).toMatchObject({
    samples: 3,
    processes: [{ pid: 7, comm: "srv", count: 3 }],
    places: [{ function: { name: "last" }, count: 3 }],
    files: [{ module: "app", count: 3 }],
  });
  const lost = counters.find(({ kind }) => kind === "loss");
  if (lost) expect(blame([tick], lost).samples).toBe(0);
});
