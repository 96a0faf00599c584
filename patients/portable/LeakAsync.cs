// patient:  leak-async
// kind:     illness
// illness:  every request awaits an answer that never comes, and its operation lives for ever
// finding:  async-leak
// culprit:  Gateway.Link.AskAsync
// runtimes: 3.1 8 9 10
// The link keeps a completion source for each question, and no answer completes it.
// Arguments: rate (MB per second) and cap (MB).

using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;
using Patients;

namespace Gateway
{
    [Patient("leak-async")]
    internal static class FrontDesk
    {
        private static readonly Link s_link = new Link();

        private static void Run(PatientArguments args)
        {
            Growth.Start("questions", args, Link.ApproximateBytes, () => s_link.AskAsync());
            Patient.Ready();
        }
    }

    internal sealed class Link
    {
        public const int ApproximateBytes = 16 * 1024;

        private readonly List<TaskCompletionSource<int>> _open = new List<TaskCompletionSource<int>>();

        [MethodImpl(MethodImplOptions.NoInlining)]
        public async Task<int> AskAsync()
        {
            var question = new byte[ApproximateBytes];
            var answer = new TaskCompletionSource<int>();
            _open.Add(answer);
            var length = await answer.Task;
            return length + question.Length; // so it must be kept until then
        }
    }
}
