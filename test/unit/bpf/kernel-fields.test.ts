/** The kernel's fields that the BPF objects touch. */
import { expect, test } from "vitest";
import { kernelFields } from "../../support/btf.ts";
import { root } from "../../support/polytop.ts";

test.each([
  ["polytop.bpf.o", "task_struct.flags"],
  ["wait.bpf.o", "task_struct___wait.on_cpu"],
])("%s touches no field as a signed number, which libbpf fits no load to", (object, known) => {
  const fields = kernelFields(`${root}dist/${object}`);
  expect(fields.map(({ name }) => name)).toContain(known);
  const signed = fields.filter(({ isSigned }) => isSigned);
  expect([...new Set(signed.map(({ name }) => name))]).toEqual([]);
});
