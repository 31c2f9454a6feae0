import { beforeAll, describe, expect, test } from "vitest";
import { BUILD_MILLISECONDS, buildTools, CHECKED_TOOL, demangle, run } from "./symbols-tool.ts";

const LIBRARY = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6";

beforeAll(buildTools, BUILD_MILLISECONDS);

describe("demangle", () => {
  test.each([
    ["main", "main"],
    ["_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int>>::push_back"],
    ["_ZN2ns3fooEiPKc", "ns::foo"],
    ["_ZN2ns3fooEiPKc.cold", "ns::foo.cold"],
    ["_ZN2ns3fooEiPKc.isra.0.constprop.1", "ns::foo.isra.0.constprop.1"],
    ["_ZL4workv.llvm.1234567", "work"],
    ["_ZN3fooC1Ev", "foo::foo"],
    ["_ZN3fooD2Ev", "foo::~foo"],
    ["_ZN3foocvbEv", "foo::operator bool"],
    ["_ZNK3foocvT_IiEEv", "foo::operator int<int>"],
    ["_ZNK3fooltERKS_", "foo::operator<"],
    ["_ZNK3fooclEi", "foo::operator()"],
    ["_ZlsRSoRK3foo", "operator<<"],
    ["_ZlsIiERSoS0_T_", "operator<< <int>"],
    ["_ZN3fooIiEC1Ev", "foo<int>::foo"],
    ["_Znwm", "operator new"],
    ["_Z3fooB5cxx11v", "foo[abi:cxx11]"],
    ["_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo"],
    ["_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()"],
    ["_ZZ4mainENKUliE0_clEi", "main::{lambda(int)#2}::operator()"],
    ["_ZN1fIZ4mainEUt_E1gEv", "f<main::{unnamed type#1}>::g"],
    ["_ZThn16_N1A1fEi", "non-virtual thunk to A::f"],
    ["_Z1fIiEDTcl1gfp_EET_", "f<int>"],
    ["_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE", "core::fmt::Formatter::write_str"],
    [
      "_ZN60_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..Drop$GT$4drop17h0123456789abcdefE.llvm.77",
      "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
    ],
    ["_ZN4main8caf$ue9$17h0123456789abcdefE", "main::café"],
    ["_ZN4main9h$u1f600$17h0123456789abcdefE", "main::h😀"],
    ["_ZN4main8x$ud800$17h0123456789abcdefE", "main::x$ud800$"],
    ["work.llvm.1234567", "work"],
    ["work.llvm.x", "work.llvm.x"],
    ["F66696e642d66696c65_find_file_0", "find-file"],
    ["F66696e642d66696c65_find_other_0", "F66696e642d66696c65_find_other_0"],
    ["F00_0", "F00_0"],
    ["_RNvNtNtCs9ltgdHTiPiY_4core3fmt3num3imp", "core::fmt::num::imp"],
    ["_RNvMNtCs1_5alloc3vecINtB2_3VecjE4push.llvm.99", "<alloc::vec::Vec<usize>>::push"],
    ["_D3std5stdio6stdoutZ", "std.stdio.stdout"],
    ["_Dmain", "D main"],
    ["_D7orchard5press4spinFiZv", "orchard.press.spin"],
    ["_D7orchard5press4mainFZ9__lambda1FNbNfiZv", "orchard.press.main.__lambda1"],
    ["_D3foo3Bar6__dtorMFZv", "foo.Bar.~this"],
    ["_D3std4conv__T2toTkZ__TQjTkZQoFNaNbNiNfkZk", "std.conv.to!(uint).to!(uint).to"],
    [
      "_D3std6base64__T10Base64ImplVai45Vai95Vai0Z12decodeLengthFNaNbNfImZm",
      "std.base64.Base64Impl!('-', '_', '\\x00').decodeLength",
    ],
    [
      "_D3std5range10primitives__T5doPutTDFNaNbNfAxaZvTAaZQyFNaNbNfKQBbKQrZv",
      "std.range.primitives.doPut!(void(const(char)[]) pure nothrow @safe delegate, char[]).doPut",
    ],
    ["_D3fooQbFZv", "_D3fooQbFZv"],
    ["_D3foo__T1aTQbZQaFZv", "_D3foo__T1aTQbZQaFZv"],
    ["_Z", "_Z"],
    ["_ZN", "_ZN"],
    ["_Zebra", "_Zebra"],
    ["_R", "_R"],
    ["_D", "_D"],
    ["", ""],
  ])("%s is %s", (mangled, shown) => {
    expect(demangle([mangled])).toEqual([shown]);
  });

  test("agrees with binutils' demangler on a library's names", () => {
    const names = run("nm", ["-D", "--defined-only", LIBRARY])
      .map((line) => line.replace(/@.*/, "").split(" ").at(-1) ?? "")
      .filter((name) => /^_Z(?!GT|T)/.test(name));
    // Both are right: LLVM writes `>>`, and `std::string` for what the mangling abbreviates so.
    const normal = (text: string) =>
      text
        .replaceAll(/ (?=>)/g, "")
        .replaceAll(/basic_(\w+)<char, std::char_traits<char>(, std::allocator<char>)?>/g, "$1");
    const ours = demangle(names).map(normal);
    const theirs = run("c++filt", ["-p"], `${names.join("\n")}\n`).map(normal);
    const differing = ours.filter((name, index) => name !== theirs[index]);
    expect(names.length).toBeGreaterThan(1000);
    expect(differing.length / names.length).toBeLessThan(0.002);
  });

  /** A name of some hundred bytes whose text doubles with every step. */
  function bomb(steps: number): string {
    const substitution = (n: number) =>
      n === 0 ? "S_" : `S${(n - 1).toString(36).toUpperCase()}_`;
    let name = "_Z1fI1a1bIS0_S0_E";
    for (let i = 0; i < steps; i++) name += `S1_I${substitution(i + 2)}${substitution(i + 2)}E`;
    return `${name}EvT_`;
  }

  test("hostile names come back as they are, at once", () => {
    const rust = `_RINvC1a1fTjjE${"TB7_B7_E".repeat(3)}E`;
    const names = [bomb(40), bomb(300), rust, "_ZN".repeat(1300), `_Z1f${"P".repeat(4000)}i`];
    for (const piece of [
      "1aI",
      "Z1f",
      "XnX",
      "DTcl",
      "Dp",
      "F",
      "L_Z1f",
      "UlTy",
      "J",
      "cv",
      "fL",
    ]) {
      names.push(
        `_Z1fI${piece.repeat(4000)}`.slice(0, 4096),
        `_ZN${piece.repeat(4000)}`.slice(0, 4096),
      );
    }
    names.push(`_RNv${"Nv".repeat(2000)}`, `_RMC1a${"T".repeat(4000)}`, `_Z1f${"i".repeat(5000)}`);
    const shown = demangle(names, CHECKED_TOOL);
    expect(shown).toHaveLength(names.length);
    expect(shown.slice(0, 2)).toEqual(names.slice(0, 2));
    expect(shown.at(-1)).toBe(names.at(-1));
    for (const name of shown) expect(name.length).toBeLessThan(1 << 20);
  });
});
