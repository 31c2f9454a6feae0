// SPDX-License-Identifier: Apache-2.0
// A .NET program whose stacks are known. Modes: shares, chains, mix, dynamic, deep N, threaded N, calls, interfaces, framework, reuse KIND MILLISECONDS; each runs until it is ended.
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Linq;
using System.Linq.Expressions;
using System.Numerics;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;
using System.Xml.Linq;

namespace Truth;

/// <summary>Uses the CPU for a known time.</summary>
static class Work
{
    /// <summary>About a microsecond a turn, without a call.</summary>
    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    public static long Turns(int count)
    {
        long sum = 1;
        for (int i = 0; i < count * 400; i++) sum = sum * 31 + i;
        return sum;
    }
}

class Generic<T>
{
    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    public static long Sixty(long start)
    {
        long sum = start;
        for (int i = 0; i < 240_000; i++) sum = sum * 31 + i;
        return sum;
    }
}

static class Program
{
    static void Main(string[] arguments)
    {
        string mode = arguments.Length > 0 ? arguments[0] : "mix";
        if (mode == "shares") Shares();
        else if (mode == "chains") Chains.Run();
        else if (mode == "dynamic") Dynamic.Run();
        else if (mode == "corrupt") Corrupt.Run(arguments[1]);
        else if (mode == "deep") Deep(arguments.Length > 1 ? int.Parse(arguments[1]) : 60);
        else if (mode == "threaded") new Thread(() => Deep(int.Parse(arguments[1]))).Start();
        else if (mode == "calls") Calls.Run();
        else if (mode == "interfaces") Interfaces.Run();
        else if (mode == "framework") Framework.Run();
        else if (mode == "reuse") Reuse.Run(arguments[1], int.Parse(arguments[2]));
        else if (mode == "brief")
        {
            long end = Environment.TickCount64 + int.Parse(arguments[1]);
            do Mix.Once(); while (Environment.TickCount64 < end);
        }
        else for (;;) Mix.Once();
    }

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    static long Thirty(long start)
    {
        long sum = start;
        for (int i = 0; i < 120_000; i++) sum = sum * 31 + i;
        return sum;
    }

    /// <summary>The loop of the others, 40 000 times.</summary>
    static Func<long, long> MakeTen()
    {
        var method = new DynamicMethod("Ten", typeof(long), new[] { typeof(long) });
        ILGenerator il = method.GetILGenerator();
        LocalBuilder sum = il.DeclareLocal(typeof(long)), i = il.DeclareLocal(typeof(int));
        Label test = il.DefineLabel(), again = il.DefineLabel();
        il.Emit(OpCodes.Ldarg_0); il.Emit(OpCodes.Stloc, sum);
        il.Emit(OpCodes.Br, test);
        il.MarkLabel(again);
        il.Emit(OpCodes.Ldloc, sum); il.Emit(OpCodes.Ldc_I4, 31); il.Emit(OpCodes.Conv_I8); il.Emit(OpCodes.Mul);
        il.Emit(OpCodes.Ldloc, i); il.Emit(OpCodes.Conv_I8); il.Emit(OpCodes.Add); il.Emit(OpCodes.Stloc, sum);
        il.Emit(OpCodes.Ldloc, i); il.Emit(OpCodes.Ldc_I4_1); il.Emit(OpCodes.Add); il.Emit(OpCodes.Stloc, i);
        il.MarkLabel(test);
        il.Emit(OpCodes.Ldloc, i); il.Emit(OpCodes.Ldc_I4, 40_000); il.Emit(OpCodes.Blt, again);
        il.Emit(OpCodes.Ldloc, sum); il.Emit(OpCodes.Ret);
        return method.CreateDelegate<Func<long, long>>();
    }

    /// <summary>
    /// Calls each at random, so often that 60, 30 and 10 % of the time are theirs: how fast the loop of each is depends
    /// on where its code lies, and calls in turns may fall in step with the samples.
    /// </summary>
    static void Shares()
    {
        Func<long, long>[] methods = { Generic<string>.Sixty, Thirty, MakeTen() };
        double[] shares = { 60, 30, 10 };
        long[] spent = { 1, 1, 1 }, calls = { 1, 1, 1 };
        double Weight(int i) => shares[i] * calls[i] / spent[i];
        var random = new Random(1);
        for (long sum = 0; ;)
        {
            double left = random.NextDouble() * (Weight(0) + Weight(1) + Weight(2));
            int next = 0;
            while (next < 2 && (left -= Weight(next)) > 0) next++;
            long begin = Stopwatch.GetTimestamp();
            sum += methods[next](sum);
            spent[next] += Stopwatch.GetTimestamp() - begin;
            calls[next]++;
        }
    }

    // Compiled once: a body that takes over from another (OSR) may have its unwind information in a page that nothing
    // has touched yet, which the kernel side cannot read.
    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    static void Deep(int depth)
    {
        for (;;) Descend(depth);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Descend(int left) => left == 0 ? Work.Turns(200) : Descend(left - 1) + 1;
}

/// <summary>Methods that do nothing but call: B3 is called by B2 alone, B0 by Run alone. The frames are of all kinds.</summary>
static class Calls
{
    struct Large { public long A, B, C, D, E; }

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    public static void Run()
    {
        for (long turn = 0; ; turn++) if (A0(turn) + B0(turn, 1, 2) + C0(turn) == 1) return;
    }

    // Nothing to keep.
    [MethodImpl(MethodImplOptions.NoInlining)] static long A0(long x) => A1(x) + 1;
    [MethodImpl(MethodImplOptions.NoInlining)] static long A1(long x) => A2(x) + 1;
    [MethodImpl(MethodImplOptions.NoInlining)] static long A2(long x) => A3(x) + 1;
    [MethodImpl(MethodImplOptions.NoInlining)] static long A3(long x) => A4(x) + 1;
    [MethodImpl(MethodImplOptions.NoInlining)] static long A4(long x) => A5(x) + 1;
    [MethodImpl(MethodImplOptions.NoInlining)] static long A5(long x) => x;

    // Registers to keep, arguments on the stack.
    [MethodImpl(MethodImplOptions.NoInlining)] static long B0(long x, long y, long z) => B1(x, y, z) + x * y + z;
    [MethodImpl(MethodImplOptions.NoInlining)] static long B1(long x, long y, long z) => B2(x, y, z, x, y, z, x, y) + x - y - z;
    [MethodImpl(MethodImplOptions.NoInlining)] static long B2(long a, long b, long c, long d, long e, long f, long g, long h) => B3(new Large { A = a, E = h }) + a + b + c + d + e + f + g + h;
    [MethodImpl(MethodImplOptions.NoInlining)] static long B3(Large large) => B4(ref large) + large.E;
    [MethodImpl(MethodImplOptions.NoInlining)] static long B4(ref Large large) => B5() + large.A;
    [MethodImpl(MethodImplOptions.NoInlining)] static long B5() => 7;

    // Frame pointers, memory of a size of its own, a page to probe, a finally block.
    [MethodImpl(MethodImplOptions.NoInlining)] static unsafe long C0(long x) { byte* bytes = stackalloc byte[(int)(x & 31) + 1]; *bytes = 1; return C1(x) + *bytes; }
    [MethodImpl(MethodImplOptions.NoInlining), SkipLocalsInit] static unsafe long C1(long x) { byte* bytes = stackalloc byte[9000]; *bytes = 1; return C2(x) + *bytes; }
    [MethodImpl(MethodImplOptions.NoInlining)] static long C2(long x) { try { return C3(x) + 1; } finally { last = x; } }
    [MethodImpl(MethodImplOptions.NoInlining)] static long C3(long x) { if (x < 0) return 1; return C4(x, x * 0.5) + 1; }
    [MethodImpl(MethodImplOptions.NoInlining)] static long C4(long x, double y) => x;
    static long last;
}

/// <summary>Calls of an interface that meet many types, which the runtime looks up in a cache, from a loop that is compiled anew while it runs.</summary>
static class Interfaces
{
    interface IStep { int Next(int x); }
    class Step1 : IStep { public int Next(int x) => x + 1; }
    class Step2 : IStep { public int Next(int x) => x + 2; }
    class Step3 : IStep { public int Next(int x) => x + 3; }
    class Step4 : IStep { public int Next(int x) => x + 4; }
    class Step5 : IStep { public int Next(int x) => x + 5; }
    class Step6 : IStep { public int Next(int x) => x + 6; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Take(IStep step, int x) => step.Next(x);

    public static void Run()
    {
        var steps = new IStep[] { new Step1(), new Step2(), new Step3(), new Step4(), new Step5(), new Step6() };
        for (int x = 1, turn = 0; x != 0; turn = (turn + 1) % 6) x = Take(steps[turn], x) | 1;
    }
}

/// <summary>The framework's own code, in many of its assemblies.</summary>
static class Framework
{
    record Order(int Number, string Name, decimal Price, DateTime At, List<string> Tags, Dictionary<string, double> Weights);

    // Trimming for .NET 8 takes the names of its parameters away, which its JSON needs.
    [DynamicDependency(DynamicallyAccessedMemberTypes.All, typeof(Order))]
    public static void Run()
    {
        var words = new Regex(@"(?<key>\w+)\s*=\s*(?<value>[\w.]+)(;|$)");
        for (int turn = 0; ; turn++)
        {
            var order = new Order(turn, "n" + turn, turn * 1.5m, DateTime.UnixEpoch.AddDays(turn % 9999), new() { "a", "b" }, new() { ["x"] = turn / 3.0 });
            Order again = JsonSerializer.Deserialize<Order>(JsonSerializer.Serialize(order));
            string text = string.Join(";", Enumerable.Range(0, 9).Select(i => $"k{i} = {again.Price + i:F2}"));
            var pairs = words.Matches(text).ToDictionary(it => it.Groups["key"].Value, it => it.Groups["value"].Value);
            var sorted = pairs.GroupBy(it => it.Value.Length).OrderByDescending(it => it.Key).SelectMany(it => it).ToList();
            var set = new SortedDictionary<BigInteger, string>();
            foreach (var (key, value) in sorted) set[BigInteger.Pow(turn + 3, 20 + key.Length) / 7] = value;
            var queue = new ConcurrentDictionary<string, Uri>(pairs.Select(it => KeyValuePair.Create(it.Key, new Uri("http://host/" + it.Value))));
            byte[] hash = SHA256.HashData(Encoding.UTF8.GetBytes(string.Concat(queue.Values) + set.Count));
            var xml = XDocument.Parse($"<a b='{Convert.ToBase64String(hash)}'><c>{turn}</c></a>");
            if (xml.ToString().Length == turn) Console.WriteLine(turn);
        }
    }
}

/// <summary>Calls of every kind, quickly one after the other.</summary>
static class Mix
{
    interface IShape { long Area(int turn); }
    class Square : IShape { public long Area(int turn) => turn * turn + Work.Turns(1); }
    class Circle : IShape { public long Area(int turn) => turn * 3 + Work.Turns(1); }
    record struct Pair(int Left, int Right) : IComparable<Pair>
    {
        public int CompareTo(Pair other) => Left != other.Left ? Left.CompareTo(other.Left) : Right.CompareTo(other.Right);
    }
    class Reverse : IComparer<string> { public int Compare(string left, string right) => string.CompareOrdinal(right, left); }

    static long result;

    public static void Once()
    {
        result += Sorted() + Shapes() + Queries() + Thrown(3) + Strings() + Waited().GetAwaiter().GetResult() + Counted(12) + Held();
    }

    record struct Weight(long Grams);
    static class Holder<TItem>
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Put<TOther>(TItem item, TOther other) => Work.Turns(item.GetHashCode() == other.GetHashCode() ? 2 : 3);
    }

    static long Held()
    {
        long sum = 0;
        for (int i = 0; i < 100; i++) sum += Holder<Pair>.Put(new Pair(i, i), new Weight(i)) + Holder<Weight>.Put(new Weight(i), new Pair(i, 1));
        return sum;
    }

    static long Sorted()
    {
        var pairs = Enumerable.Range(0, 400).Select(i => new Pair(i * 7919 % 401, i)).ToList();
        pairs.Sort();
        var names = Enumerable.Range(0, 200).Select(i => (i * 7919 % 211).ToString()).ToArray();
        Array.Sort(names, new Reverse());
        return pairs[3].Right + names[2].Length;
    }

    static long Shapes()
    {
        IShape[] shapes = { new Square(), new Circle() };
        long sum = 0;
        for (int i = 0; i < 200; i++) sum += shapes[i & 1].Area(i);
        return sum;
    }

    static long Queries()
    {
        var counts = new Dictionary<Pair, long>();
        for (int i = 0; i < 300; i++) counts[new Pair(i % 17, i % 13)] = i;
        return counts.Where(it => it.Value % 3 > 0).OrderBy(it => it.Key.Right).Select(it => it.Value).Sum();
    }

    static long Thrown(int depth)
    {
        try
        {
            if (depth == 0) throw new InvalidOperationException("as planned");
            return Thrown(depth - 1);
        }
        catch (InvalidOperationException) when (depth == 3) { return Work.Turns(5); }
        finally { result += Work.Turns(1); }
    }

    static long Strings()
    {
        var text = new StringBuilder();
        for (int i = 0; i < 100; i++) text.Append(i).Append(',').Append(i * 0.5);
        return text.ToString().Split(',').Length;
    }

    static async Task<long> Waited()
    {
        await Task.Yield();
        return Work.Turns(10);
    }

    static long Counted(int n) => n < 2 ? n : Counted(n - 1) + Counted(n - 2);
}

/// <summary>Runs the recursion in a second copy of its assembly, whose metadata is overwritten meanwhile.</summary>
static class Corrupt
{
    [DllImport("libc")] static extern int mprotect(IntPtr start, nint size, int protection);

    public static unsafe void Run(string path)
    {
        Assembly copy = Assembly.Load(System.IO.File.ReadAllBytes(path));
        MethodInfo deep = copy.GetType("Truth.Program").GetMethod("Deep", BindingFlags.NonPublic | BindingFlags.Static);
        var action = deep.CreateDelegate<Action<int>>();
        new Thread(() => action(40)) { IsBackground = true }.Start();
        Thread.Sleep(1000);
        System.Reflection.Metadata.AssemblyExtensions.TryGetRawMetadata(copy, out byte* metadata, out int size);
        IntPtr page = (IntPtr)((long)metadata & ~4095L);
        mprotect(page, size + (nint)(metadata - (byte*)page), 3);
        new Span<byte>(metadata, size).Fill(0xff);
        Console.WriteLine("corrupted");
        Thread.Sleep(Timeout.Infinite);
    }
}

/// <summary>Dynamic methods that come and go under collections: each calls the static method of its own number.</summary>
static class Dynamic
{
    static readonly string[] Leaves = Enumerable.Range(0, 8).Select(i => "Leaf" + i).ToArray();
    [MethodImpl(MethodImplOptions.NoInlining)] public static long Leaf0() => Work.Turns(400);
    [MethodImpl(MethodImplOptions.NoInlining)] public static long Leaf1() => Work.Turns(400);
    [MethodImpl(MethodImplOptions.NoInlining)] public static long Leaf2() => Work.Turns(400);
    [MethodImpl(MethodImplOptions.NoInlining)] public static long Leaf3() => Work.Turns(400);
    [MethodImpl(MethodImplOptions.NoInlining)] public static long Leaf4() => Work.Turns(400);
    [MethodImpl(MethodImplOptions.NoInlining)] public static long Leaf5() => Work.Turns(400);
    [MethodImpl(MethodImplOptions.NoInlining)] public static long Leaf6() => Work.Turns(400);
    [MethodImpl(MethodImplOptions.NoInlining)] public static long Leaf7() => Work.Turns(400);

    public static void Run()
    {
        var clock = Stopwatch.StartNew();
        for (int number = 0; ; number = (number + 1) % Leaves.Length)
        {
            Func<long> made = Make(number);
            for (int i = 0; i < 25; i++) made();
            if (clock.ElapsedMilliseconds < 1000) continue;
            GC.Collect();
            GC.WaitForPendingFinalizers();
            clock.Restart();
        }
    }

    static Func<long> Make(int number)
    {
        var method = new DynamicMethod("Calls" + number, typeof(long), Type.EmptyTypes);
        ILGenerator il = method.GetILGenerator();
        il.Emit(OpCodes.Call, typeof(Dynamic).GetMethod(Leaves[number]));
        il.Emit(OpCodes.Ldc_I4_1); il.Emit(OpCodes.Conv_I8); il.Emit(OpCodes.Add);
        il.Emit(OpCodes.Ret);
        return method.CreateDelegate<Func<long>>();
    }
}

/// <summary>Chains of calls of many kinds; each ends in Spin, which prints the runtime's own view of its stack and goes on.</summary>
static class Chains
{
    static readonly object Output = new();

    [DllImport("libc")] static extern unsafe void qsort(IntPtr start, nint count, nint size, delegate* unmanaged[Cdecl]<IntPtr, IntPtr, int> compare);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Spin()
    {
        var line = new StringBuilder("CHAIN");
        foreach (StackFrame frame in new StackTrace(0, false).GetFrames())
        {
            MethodBase method = frame.GetMethod();
            Type type = method?.DeclaringType;
            if (method == null) continue;
            if (type is { IsGenericType: true }) type = type.GetGenericTypeDefinition();
            line.Append('\t').Append(type == null ? method.Name : type.FullName + "." + method.Name);
        }
        lock (Output) Console.WriteLine(line.ToString());
        long sum = 0;
        for (;;) sum += Work.Turns(1000);
    }

    [UnmanagedCallersOnly(CallConvs = new[] { typeof(CallConvCdecl) })]
    static int Compare(IntPtr left, IntPtr right) => (int)Spin();

    static unsafe void Callback()
    {
        int* numbers = stackalloc int[8];
        qsort((IntPtr)numbers, 8, 4, &Compare);
    }

    class Early { public static readonly long Value; static Early() { Value = Spin(); } }
    class Made { public Made() { Spin(); } }
    interface IWithBody { long Body() => Spin(); }
    class Plain : IWithBody { }
    class Keys : IEqualityComparer<string>
    {
        public bool Equals(string left, string right) => Spin() > 0;
        public int GetHashCode(string key) => 1;
    }
    static bool Condition() => Spin() > 0;
    static IEnumerable<long> Numbers() { yield return 1; yield return Spin(); }
    static async Task<long> Later() { await Task.Delay(1); return Spin(); }
    static long Down<T>(int left, T value) => left == 0 ? Spin() : Down(left - 1, value) + 1;
    static void Looping()
    {
        long sum = 0;
        // Long enough to be compiled anew in the middle of the loop.
        for (int i = 0; i < 400_000; i++) sum += i % 7;
        if (sum > 0) Spin();
    }
    static void Thrower() => throw new InvalidOperationException("as planned");

    public static void Run()
    {
        var actions = new Action[]
        {
            () => Spin(),
            Callback,
            () => Console.Write(Early.Value),
            () => { var table = new Dictionary<string, int>(new Keys()) { ["a"] = 1 }; table.TryGetValue("b", out _); },
            () => ((IWithBody)new Plain()).Body(),
            () => Activator.CreateInstance<Made>(),
            () => typeof(Chains).GetMethod("Looping", BindingFlags.NonPublic | BindingFlags.Static).Invoke(null, null),
            () => Later().Wait(),
            () => { try { Thrower(); } catch (InvalidOperationException) { Spin(); } },
            () => { try { Thrower(); } catch (InvalidOperationException) when (Condition()) { } },
            () => { try { Console.Out.Flush(); } finally { Spin(); } },
            () => { foreach (long number in Numbers()) if (number < 0) return; },
            () => new List<int> { 3, 1, 2 }.Sort((left, right) => (int)Spin()),
            () => Enumerable.Range(0, 3).Where(i => Spin() > 0).ToList(),
            () => Down(5, "text"),
            () => Down(5, 1.5),
            Looping,
            () => Expression.Lambda<Func<long>>(Expression.Call(typeof(Chains).GetMethod("Spin", BindingFlags.NonPublic | BindingFlags.Static))).Compile()(),
            () => string.Create(4, 1L, (span, state) => Spin()),
            () => new Lazy<long>(() => Spin()).Value.ToString(),
        };
        foreach (Action action in actions) new Thread(() => action()) { IsBackground = true }.Start();
        Thread.Sleep(Timeout.Infinite);
    }
}
