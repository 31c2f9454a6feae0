/** Names of what the C# compiler made, as their source has them. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { readableFunctionName, readableName } from "../../../src/text/readable-name.ts";
import type { FunctionInfo } from "../../../src/tick/tick.ts";

const FILE = `F${"0123456789ABCDEF".repeat(4)}`;

test.each([
  // Async methods and iterators.
  ["Worker+<RunAsync>d__3.MoveNext", "Worker.RunAsync"],
  ["A.Worker+<RunAsync>d__3.SetStateMachine", "A.Worker.RunAsync (SetStateMachine)"],
  ["A.B`1+<Items>d__5`1.MoveNext", "A.B`1.Items"],
  ["X+<It>d__5.<>m__Finally1", "X.It (<>m__Finally1)"],
  [
    "X+<It>d__5.System.Collections.Generic.IEnumerable<System.Int32>.GetEnumerator",
    "X.It (GetEnumerator)",
  ],
  [
    "X+<System-Collections-Generic-IEnumerable<T>-GetEnumerator>d__5.MoveNext",
    "X.System.Collections.Generic.IEnumerable<T>.GetEnumerator",
  ],
  // Lambdas: without captured variables, with them, in constructors, async.
  ["Program+<>c.<Main>b__0_0", "Program.Main (lambda 0)"],
  ["Program+<>c__4`1.<Map>b__4_2", "Program.Map (lambda 2)"],
  ["Program+<>c__DisplayClass0_0.<Main>b__1", "Program.Main (lambda 1)"],
  ["Program.<Main>b__12", "Program.Main (lambda 12)"],
  ["X+<>c.<.ctor>b__0_0", "X..ctor (lambda 0)"],
  ["A.B`1+<>c__DisplayClass3_0`1+<<M>b__1>d.MoveNext", "A.B`1.M (lambda 1)"],
  ["X+<>c+<<M>b__0_4>d.MoveNext", "X.M (lambda 4)"],
  ["X+<>c__DisplayClass1_0+<>c__DisplayClass1_1.<M>b__3", "X.M (lambda 3)"],
  // Local functions.
  ["Program.<Main>g__Add|0_0", "Program.Main.Add"],
  ["X+<>c__DisplayClass1_0.<M>g__Local|2", "X.M.Local"],
  ["X+<<M>g__Local|0_0>d.MoveNext", "X.M.Local"],
  // Statements outside of any type.
  ["Program.<Main>$", "Program.Main"],
  ["Program.<Main>", "Program.Main"],
  ["Program+<<Main>$>d__0.MoveNext", "Program.Main"],
  ["Program+<>c.<<Main>$>b__0_1", "Program.Main (lambda 1)"],
  ["Program.<<Main>$>g__Local|0_2", "Program.Main.Local"],
  ["Point.<Clone>$", "Point.Clone"],
  // Types of one file.
  [`N.<Regex_g>${FILE}__Name_0+Runner.Scan`, "N.Name_0+Runner.Scan"],
  [`N.<Regex_g>${FILE}__Name_0+<>c.<M>b__0_0`, "N.Name_0.M (lambda 0)"],
])("%s is %s", (raw, readable) => {
  expect(readableName(raw)).toBe(readable);
});

test.each([
  "System.String.Concat",
  "A.B`2+C.Method",
  "Foo..ctor",
  "<PrivateImplementationDetails>.ComputeStringHash",
  "<Module>..cctor",
  "<>f__AnonymousType0`2.get_Name",
  "X.<>n__0",
  "X+<>c..cctor",
  "X+<>c.Plain",
  "X+<>c",
  "X+<M>d__1",
  "X+<M>z__1.MoveNext",
  "X.<M>z__1",
  "X.<M",
  "X.M>",
  "X.<Foo>",
  "",
  "[unnamed method: its image is cut > in two]",
  "App.Module+clo@12-1.Invoke",
])("%s stays as it is", (name) => {
  expect(readableName(name)).toBe(name);
});

test("no text makes anything but a text, and twice changes nothing more for names of compilers", () => {
  const piece = fc.constantFrom(
    "<",
    ">",
    "+",
    ".",
    "c",
    "d__1",
    "b__0_0",
    "g__F|0",
    "X",
    "$",
    "`1",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const name = pieces.join("");
      const readable = readableName(name);
      expect(typeof readable).toBe("string");
      if (name !== "") expect(readable).not.toBe("");
    }),
  );
});

test("the longest name that there is takes no time that anybody sees", () => {
  expect(readableName(`X.${"<".repeat(255)}${">".repeat(255)}`)).toContain("X.");
});

test("only names of .NET are looked at", () => {
  const info = (runtime: FunctionInfo["runtime"]): FunctionInfo => ({
    id: 1,
    runtime,
    name: "X+<M>d__1.MoveNext",
    module: "",
  });
  expect(readableFunctionName(info("dotnet"))).toBe("X.M");
  expect(readableFunctionName(info("native"))).toBe("X+<M>d__1.MoveNext");
});
