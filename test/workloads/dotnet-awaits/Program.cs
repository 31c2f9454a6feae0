// Async methods that know who awaits them. All of the time is spent in leaves, methods of class Leaf, and each is called
// in one place: its name tells the whole stack of who calls and who awaits, which the test has a table of.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Awaits;

static class Leaf
{
    static int sum;

    static void Burn(int microseconds = 1500)
    {
        long end = Stopwatch.GetTimestamp() + microseconds * (Stopwatch.Frequency / 1_000_000);
        while (Stopwatch.GetTimestamp() < end)
            for (int i = 0; i < 20_000; i++) sum = sum * 31 + i;
    }

    [MethodImpl(MethodImplOptions.NoInlining)] public static void Deep() => Burn();
    [MethodImpl(MethodImplOptions.NoInlining)] public static void BehindDelay() => Burn();
    [MethodImpl(MethodImplOptions.NoInlining)] public static void OfValue() => Burn();
    [MethodImpl(MethodImplOptions.NoInlining)] public static void Pooled() => Burn();
    [MethodImpl(MethodImplOptions.NoInlining)] public static void InIterator() => Burn();
    [MethodImpl(MethodImplOptions.NoInlining)] public static void OfMany() => Burn();
    [MethodImpl(MethodImplOptions.NoInlining)] public static void InLambda() => Burn();
    [MethodImpl(MethodImplOptions.NoInlining)] public static void OfNobody() => Burn();
    [MethodImpl(MethodImplOptions.NoInlining)] public static void OfTwo() => Burn();
    [MethodImpl(MethodImplOptions.NoInlining)] public static void FirstRun() => Burn();
    [MethodImpl(MethodImplOptions.NoInlining)] public static void Generic() => Burn();
    [MethodImpl(MethodImplOptions.NoInlining)] public static void Shared(int microseconds) => Burn(microseconds);
    [MethodImpl(MethodImplOptions.NoInlining)] public static void InCircle() => Burn();
    [MethodImpl(MethodImplOptions.NoInlining)] public static void OfGarbage() => Burn();
    [MethodImpl(MethodImplOptions.NoInlining)] public static void OfMillion() => Burn();
}

static class Program
{
    static async Task Chain1() => await Chain2();
    static async Task<int> Chain2() => 1 + await Chain3().ConfigureAwait(false);
    static async Task<int> Chain3() { await Task.Yield(); Leaf.Deep(); return 1; }

    static async Task Delayed() => await Waits();
    static async Task Waits() { await Task.Delay(1); Leaf.BehindDelay(); }

    static async Task Values() => await Value1();
    static async ValueTask<int> Value1() => await Value2();
    static async ValueTask<int> Value2() { await Task.Yield(); Leaf.OfValue(); return 1; }

    static async Task Pools() => await Pool1();
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    static async ValueTask<int> Pool1() { await Task.Yield(); Leaf.Pooled(); return 1; }

    static async Task Iterates() { await foreach (int _ in Numbers()) { } }
    static async IAsyncEnumerable<int> Numbers() { await Task.Yield(); Leaf.InIterator(); yield return 1; }

    static async Task All() => await Task.WhenAll(One(), One());
    static async Task One() { await Task.Yield(); Leaf.OfMany(); }

    static async Task Lambdas() => await Task.Run(async () => { await Task.Yield(); Leaf.InLambda(); });

    static async Task Forgets() { var done = new TaskCompletionSource(); Nobody(done); await done.Task; }
    static async void Nobody(TaskCompletionSource done) { await Task.Yield(); Leaf.OfNobody(); Task.Run(done.SetResult); }

    static async Task Forks() { Task both = Awaited(); Task other = Second(both); await both; await other; }
    static async Task Second(Task task) => await task;
    static async Task Awaited() { await Task.Delay(2); Leaf.OfTwo(); }

    static async Task Begins() => await Begun();
    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task Begun() { Leaf.FirstRun(); await Task.Yield(); }

    static async Task Generics() => await new Pair<string>().Of(1);

    // Two that spend 60 and 40 percent in what both await.
    static async Task Sixty() => await Helper(1800);
    static async Task Forty() => await Helper(1200);
    static async Task Helper(int microseconds) { await Task.Yield(); Leaf.Shared(microseconds); }

    // What no honest program has: who awaits is made up.
    static readonly FieldInfo continuation =
        typeof(Task).GetField("m_continuationObject", BindingFlags.NonPublic | BindingFlags.Instance);
    static async Task Circle() { await Task.Delay(50); for (;;) { Leaf.InCircle(); Thread.Sleep(5); } }
    static async Task Garbage() { await Task.Delay(50); for (;;) { Leaf.OfGarbage(); Thread.Sleep(5); } }
    static async Task Million() { await Task.Delay(50); for (;;) { Leaf.OfMillion(); Thread.Sleep(5); } }

    static void MakeUp()
    {
        Task circle = Circle(), garbage = Garbage(), million = Million();
        continuation.SetValue(circle, circle);
        continuation.SetValue(garbage, new List<object> { new Version(1, 2) });
        Task waits = Task.Delay(Timeout.Infinite);
        continuation.SetValue(million, Enumerable.Repeat<object>(waits, 1_000_000).ToList());
    }

    static async Task Forever(Func<Task> shape) { for (;;) await shape(); }

    static async Task Main(string[] args)
    {
        var shapes = new Dictionary<string, Func<Task>[]>
        {
            ["honest"] = [Chain1, Delayed, Values, Pools, Iterates, All, Lambdas, Forgets, Forks, Begins, Generics],
            ["shared"] = [async () => { await Sixty(); await Forty(); }],
        };
        if (args[0] == "made-up") { MakeUp(); await Task.Delay(Timeout.Infinite); }
        Console.WriteLine("ready");
        async Task Turn() { foreach (Func<Task> shape in shapes[args[0]]) await shape(); }
        await Forever(Turn);
    }
}

class Pair<A>
{
    public async Task Of<B>(B other) => await Inner(other);
    async Task Inner<B>(B other) { await Task.Yield(); Leaf.Generic(); }
}
