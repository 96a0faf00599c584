using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.IO.MemoryMappedFiles;
using System.Linq;
using System.Reflection;
using System.Runtime.InteropServices;
using System.Threading;

namespace Patients
{
    /// <summary>Marks the static class that stages one patient in its <c>static void Run(PatientArguments)</c>.</summary>
    [AttributeUsage(AttributeTargets.Class)]
    internal sealed class PatientAttribute : Attribute
    {
        public PatientAttribute(string id) => Id = id;

        public string Id { get; }
    }

    /// <summary>The dispatcher: finds the patients by their ids, runs them, then keeps the process alive.</summary>
    internal static class Program
    {
        private static int Main(string[] args)
        {
            RunForEver(args);
            return 0;
        }

        /// <param name="words">The patient's id, or several joined by <c>+</c>, then any number of <c>key=value</c>.</param>
        internal static void RunForEver(string[] words)
        {
            var patients = FindPatients();
            var ids = (words.FirstOrDefault() ?? "").Split('+');
            foreach (var id in ids.Where(id => !patients.ContainsKey(id)))
            {
                Patient.RejectUsage($"no patient '{id}'; the patients here are:\n  {string.Join("\n  ", patients.Keys)}");
            }

            Patient.Arguments = new PatientArguments(words.Skip(1));
            Patient.Expected = ids.Length;
            foreach (var id in ids)
            {
                patients[id](Patient.Arguments.Of(id));
            }

            Thread.Sleep(Timeout.Infinite);
        }

        private static SortedDictionary<string, Action<PatientArguments>> FindPatients()
        {
            var patients = new SortedDictionary<string, Action<PatientArguments>>(StringComparer.Ordinal);
            foreach (var type in typeof(Program).Assembly.GetTypes())
            {
                var mark = type.GetCustomAttribute<PatientAttribute>();
                if (mark != null)
                {
                    var run = type.GetMethod("Run", BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic);
                    patients.Add(mark.Id, (Action<PatientArguments>)run.CreateDelegate(typeof(Action<PatientArguments>)));
                }
            }

            return patients;
        }
    }

    /// <summary>What a patient says to the one who started it.</summary>
    internal static class Patient
    {
        private const int UsageError = 64;

        internal static PatientArguments Arguments { get; set; }

        /// <summary>Patients of this process that have not said yet that they are ready.</summary>
        internal static int Expected { get; set; }

        /// <summary>Announces a listening port. Comes before <see cref="Ready"/>.</summary>
        public static void Port(int port) => Console.Out.WriteLine($"port {port}");

        /// <summary>Announces that the illness is present. Called once by each patient, as the last act of staging.</summary>
        public static void Ready()
        {
            if (--Expected > 0)
            {
                return;
            }

            var unread = Arguments.Unread.ToList();
            if (unread.Count > 0)
            {
                RejectUsage($"this patient has no argument '{string.Join("', '", unread)}'");
            }

            Console.Out.WriteLine("ready");
            Console.Out.Flush();
        }

        internal static void RejectUsage(string message)
        {
            Console.Error.WriteLine(message);
            Environment.Exit(UsageError);
        }
    }

    /// <summary>The <c>key=value</c> arguments of a patient. Of several in one process, <c>id.key=value</c> is for one of them.</summary>
    internal sealed class PatientArguments
    {
        private readonly Dictionary<string, string> _values;
        private readonly HashSet<string> _read;
        private readonly string _prefix = "";

        public PatientArguments(IEnumerable<string> words)
        {
            _values = new Dictionary<string, string>(StringComparer.Ordinal);
            _read = new HashSet<string>(StringComparer.Ordinal);
            foreach (var word in words)
            {
                var equals = word.IndexOf('=');
                if (equals <= 0)
                {
                    Patient.RejectUsage($"'{word}' is not key=value");
                }

                _values[word.Substring(0, equals)] = word.Substring(equals + 1);
            }
        }

        private PatientArguments(PatientArguments all, string id)
        {
            _values = all._values;
            _read = all._read;
            _prefix = id + ".";
        }

        /// <summary>The same arguments as the patient <paramref name="id"/> sees them.</summary>
        public PatientArguments Of(string id) => new PatientArguments(this, id);

        public IEnumerable<string> Unread => _values.Keys.Where(key => !_read.Contains(key));

        /// <summary>The whole, positive number given for <paramref name="key"/>, or the default.</summary>
        public int Int(string key, int byDefault)
        {
            if (_values.ContainsKey(_prefix + key))
            {
                key = _prefix + key;
            }

            _read.Add(key);
            if (!_values.TryGetValue(key, out var text))
            {
                return byDefault;
            }

            if (!int.TryParse(text, out var value) || value <= 0)
            {
                Patient.RejectUsage($"'{key}={text}': a whole number above 0 is needed");
            }

            return value;
        }
    }

    /// <summary>
    /// Counts pieces of work: answers, rows, rounds. With <c>PATIENT_WORK=/path</c> the count stands in that file, eight bytes that
    /// are shared, so that whoever started the process reads it without disturbing it.
    /// </summary>
    internal static class Work
    {
        private static readonly IntPtr s_shown = Show(Environment.GetEnvironmentVariable("PATIENT_WORK"));
        private static long s_done;

        public static void Done()
        {
            var done = Interlocked.Increment(ref s_done);
            if (s_shown != IntPtr.Zero)
            {
                Marshal.WriteInt64(s_shown, done);
            }
        }

        private static IntPtr Show(string path)
        {
            if (string.IsNullOrEmpty(path))
            {
                return IntPtr.Zero;
            }

            // The mapping outlives the file and the view, which nobody closes.
            var file = MemoryMappedFile.CreateFromFile(path, FileMode.OpenOrCreate, null, sizeof(long));
            var view = file.CreateViewAccessor().SafeMemoryMappedViewHandle;
            GC.SuppressFinalize(view);
            return view.DangerousGetHandle();
        }
    }

    /// <summary>Threads of a patient, which do not outlive its main thread.</summary>
    internal static class Background
    {
        public static Thread Start(string name, ThreadStart body)
        {
            var thread = new Thread(body) { Name = name, IsBackground = true };
            thread.Start();
            return thread;
        }

        /// <summary>Returns once every thread has been blocked for 100 ms without a break.</summary>
        public static void WaitUntilBlocked(params Thread[] threads)
        {
            for (var calm = 0; calm < 10; Thread.Sleep(10))
            {
                var blocked = threads.All(thread => (thread.ThreadState & System.Threading.ThreadState.WaitSleepJoin) != 0);
                calm = blocked ? calm + 1 : 0;
            }
        }

        /// <summary>Runs <paramref name="action"/> about <paramref name="perSecond"/> times a second, up to <paramref name="limit"/> times.</summary>
        public static Thread StartPaced(string name, double perSecond, long limit, Action action) => Start(name, () =>
        {
            var clock = Stopwatch.StartNew();
            for (var done = 0L; done < limit; Thread.Sleep(20))
            {
                for (var due = (long)(clock.Elapsed.TotalSeconds * perSecond); done < due && done < limit; done++)
                {
                    action();
                    Work.Done();
                }
            }

            Thread.Sleep(Timeout.Infinite);
        });
    }

    /// <summary>Memory that grows at a rate one would believe, and stops before it fills the machine.</summary>
    internal static class Growth
    {
        private const int Megabyte = 1024 * 1024;
        private const int MegabytesAtStart = 16;

        /// <summary>
        /// Adds the first items at once, then goes on from a thread of its own.
        /// Arguments: <c>rate</c> in MB per second and <c>cap</c> in MB.
        /// </summary>
        public static void Start(string threadName, PatientArguments args, int bytesPerItem, Action addItem)
        {
            var rate = args.Int("rate", 4);
            var cap = args.Int("cap", 1500);
            for (var added = 0L; added < (long)MegabytesAtStart * Megabyte; added += bytesPerItem)
            {
                addItem();
            }

            var limit = (long)Math.Max(0, cap - MegabytesAtStart) * Megabyte / bytesPerItem;
            Background.StartPaced(threadName, (double)rate * Megabyte / bytesPerItem, limit, addItem);
        }
    }
}

/// <summary>
/// The way in for a host that is not ours (DOTNET_STARTUP_HOOKS): <c>PATIENT="id key=value"</c> holds the same words as the command line.
/// The runtime looks for this very name, outside any namespace.
/// </summary>
internal class StartupHook
{
    public static void Initialize()
    {
        var words = Environment.GetEnvironmentVariable("PATIENT");
        if (!string.IsNullOrEmpty(words))
        {
            Patients.Program.RunForEver(words.Split(' ', StringSplitOptions.RemoveEmptyEntries));
        }
    }
}
