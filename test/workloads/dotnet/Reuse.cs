// SPDX-License-Identifier: Apache-2.0
// Code that is collected, and others that get its memory. Says on stdout which method runs from when on.
using System;
using System.IO;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;
using System.Text;

namespace Truth;

/// <summary>The method whose name is another one in each copy of this assembly.</summary>
static class Reused
{
    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    public static long loop_00000(int count)
    {
        long sum = 1;
        for (int i = 0; i < count; i++) sum = sum * 31 + i;
        return sum;
    }
}

static class Reuse
{
    /// <summary>Kinds: `stream` and `file` (assemblies in contexts that are unloaded), `emit` (dynamic assemblies), `dynamic` (dynamic methods).</summary>
    public static void Run(string kind, int milliseconds)
    {
        for (int number = 0; ; number++)
        {
            WeakReference gone = Turn(kind, $"loop_{number:d5}", milliseconds);
            for (int i = 0; i < 20 && (i < 2 || gone.IsAlive); i++)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static WeakReference Turn(string kind, string name, int milliseconds)
    {
        (Func<int, long> loop, object owner) = kind switch
        {
            "dynamic" => Dynamic(name),
            "emit" => Emitted(name),
            _ => Loaded(kind, name),
        };
        long end = Environment.TickCount64 + milliseconds;
        loop(1);
        Console.WriteLine($"{DateTimeOffset.UtcNow.ToUnixTimeMilliseconds()} {name}");
        do loop(1_000_000); while (Environment.TickCount64 < end);
        if (owner is AssemblyLoadContext context) context.Unload();
        return new WeakReference(owner);
    }

    static (Func<int, long>, object) Loaded(string kind, string name)
    {
        byte[] image = File.ReadAllBytes(typeof(Reuse).Assembly.Location);
        byte[] from = Encoding.UTF8.GetBytes("loop_00000"), to = Encoding.UTF8.GetBytes(name);
        for (int at = image.AsSpan().IndexOf(from); at >= 0; at = image.AsSpan().IndexOf(from))
        {
            to.CopyTo(image, at);
            if (name == "loop_00000") break;
        }
        var context = new AssemblyLoadContext(null, true);
        Assembly assembly;
        if (kind == "stream") assembly = context.LoadFromStream(new MemoryStream(image));
        else
        {
            string path = Path.Combine(Path.GetTempPath(), $"polytop-reuse-{Environment.ProcessId}.dll");
            File.Delete(path);
            File.WriteAllBytes(path, image);
            assembly = context.LoadFromAssemblyPath(path);
            File.Delete(path);
        }
        MethodInfo method = assembly.GetType("Truth.Reused").GetMethod(name);
        return (method.CreateDelegate<Func<int, long>>(), context);
    }

    static (Func<int, long>, object) Emitted(string name)
    {
        AssemblyBuilder assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("emitted"), AssemblyBuilderAccess.RunAndCollect);
        TypeBuilder type = assembly.DefineDynamicModule("emitted").DefineType("Emitted", TypeAttributes.Public);
        MethodBuilder method = type.DefineMethod(name, MethodAttributes.Public | MethodAttributes.Static, typeof(long), new[] { typeof(int) });
        Fill(method.GetILGenerator());
        return (type.CreateType().GetMethod(name).CreateDelegate<Func<int, long>>(), assembly);
    }

    static (Func<int, long>, object) Dynamic(string name)
    {
        var method = new DynamicMethod(name, typeof(long), new[] { typeof(int) });
        Fill(method.GetILGenerator());
        var loop = method.CreateDelegate<Func<int, long>>();
        return (loop, loop);
    }

    static void Fill(ILGenerator il)
    {
        LocalBuilder sum = il.DeclareLocal(typeof(long)), i = il.DeclareLocal(typeof(int));
        Label test = il.DefineLabel(), again = il.DefineLabel();
        il.Emit(OpCodes.Br, test);
        il.MarkLabel(again);
        il.Emit(OpCodes.Ldloc, sum); il.Emit(OpCodes.Ldc_I4, 31); il.Emit(OpCodes.Conv_I8); il.Emit(OpCodes.Mul);
        il.Emit(OpCodes.Ldloc, i); il.Emit(OpCodes.Conv_I8); il.Emit(OpCodes.Add); il.Emit(OpCodes.Stloc, sum);
        il.Emit(OpCodes.Ldloc, i); il.Emit(OpCodes.Ldc_I4_1); il.Emit(OpCodes.Add); il.Emit(OpCodes.Stloc, i);
        il.MarkLabel(test);
        il.Emit(OpCodes.Ldloc, i); il.Emit(OpCodes.Ldarg_0); il.Emit(OpCodes.Blt, again);
        il.Emit(OpCodes.Ldloc, sum); il.Emit(OpCodes.Ret);
    }
}
