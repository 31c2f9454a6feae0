// `server serve PORT`: a web server, some of whose answers wait in its own methods. `server waits UNIT THREADS`: threads that wait
// 4, 3, 2 and 1 units in turn, each in a method of its own.
using System;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.Logging;

namespace Server;

static class Waits
{
    static readonly object Held = new();
    static readonly SemaphoreSlim Empty = new(0);

    public static void HoldLock()
    {
        var ready = new ManualResetEventSlim();
        var holder = new Thread(() =>
        {
            lock (Held)
            {
                ready.Set();
                Thread.Sleep(Timeout.Infinite);
            }
        });
        holder.IsBackground = true;
        holder.Start();
        ready.Wait();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Sleeps(int ms) => Thread.Sleep(ms);

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static bool WantsLock(int ms) => Monitor.TryEnter(Held, ms);

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static bool WantsSemaphore(int ms) => Empty.Wait(ms);

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void SyncOverAsync(int ms) => Task.Delay(ms).GetAwaiter().GetResult();
}

static class Program
{
    static void WaitInTurn(int unit)
    {
        for (;;)
        {
            Waits.Sleeps(4 * unit);
            Waits.WantsLock(3 * unit);
            Waits.WantsSemaphore(2 * unit);
            Waits.SyncOverAsync(unit);
        }
    }

    static void Serve(string port)
    {
        var builder = WebApplication.CreateBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseUrls($"http://127.0.0.1:{port}");
        var server = builder.Build();
        server.MapGet("/", () => "hello\n");
        server.MapGet("/sleep", () => { Waits.Sleeps(1_000_000); return "slept\n"; });
        server.MapGet("/lock", () => { Waits.WantsLock(1_000_000); return "locked\n"; });
        server.MapGet("/semaphore", () => { Waits.WantsSemaphore(1_000_000); return "entered\n"; });
        server.MapGet("/sync", () => { Waits.SyncOverAsync(1_000_000); return "done\n"; });
        server.Run();
    }

    static void Main(string[] arguments)
    {
        Waits.HoldLock();
        if (arguments[0] == "serve") Serve(arguments[1]);
        var unit = int.Parse(arguments[1]);
        for (var thread = 1; thread < int.Parse(arguments[2]); thread++)
            new Thread(() => WaitInTurn(unit)).Start();
        WaitInTurn(unit);
    }
}
