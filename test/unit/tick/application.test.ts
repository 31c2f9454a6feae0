import { expect, test } from "vitest";
import { innermostOwn } from "../../../src/tick/application.ts";
import { TickMaker } from "../../support/ticks.ts";

const maker = new TickMaker();
const own = (...frames: string[]): number =>
  innermostOwn(frames.map((text) => maker.frame(text).function));

test("the C library, the kernel and frameworks are nobody's own", () => {
  expect(own("k:futex_wait", "n:read@libc.so.6", "n:fetch@app", "n:main@app")).toBe(2);
  expect(own("n:read@libc-2.31.so", "n:start@ld-linux-x86-64.so.2", "n:f@app")).toBe(2);
  expect(
    own("n:f@libcoreclr.so", "d:System.Threading.Thread.Sleep@System.Private.CoreLib", "d:A.B@A"),
  ).toBe(2);
  expect(
    own(
      "d:IL_STUB_PInvoke@[dynamic]",
      "d:System.Threading.SemaphoreSlim.WaitCore@System.Private.CoreLib",
      "d:A.B@A",
    ),
  ).toBe(2);
  expect(own("n:libcurl+0x1@libcurl.so.4", "n:main@app")).toBe(0);
});

test("native code that a Perl sub called is that sub's, code that calls Perl is its own", () => {
  expect(own("n:read@libc.so.6", "n:HiRes.so+0x1@HiRes.so", "p:main::nap@a.pl:1")).toBe(2);
  expect(own("p:main::nap@a.pl:1", "n:embed@app")).toBe(0);
  expect(own("n:time_sleep@python3.11", "y:nap@a.py:1", "n:Py_Main@python3.11")).toBe(1);
  expect(own("n:uv_cond_wait@node", "j:nap@a.js:1", "n:node::Start@node")).toBe(1);
});

test("a stack without any has none", () => {
  expect(own("k:schedule")).toBe(-1);
  expect(own()).toBe(-1);
});
