// patient:  async-hot-path
// kind:     illness
// illness:  two request handlers await, three and two layers down, one price calculation that burns the CPU; one asks three times as often
// finding:  async-hot-path
// culprit:  Quotes.PriceModel.SimulateAsync
// runtimes: 3.1 8 9 10
// The calculation runs after an await, so on the stack its caller is the thread pool and not the handler.

using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Patients;

namespace Quotes
{
    [Patient("async-hot-path")]
    internal static class QuoteDesk
    {
        private static int s_quotes;
        private static int s_audits;

        private static void Run(PatientArguments args)
        {
            var rounds = args.Int("rounds", 2000);
            var model = new PriceModel(rounds);
            _ = QuoteRequests(new QuoteService(model));
            _ = AuditRequests(new AuditService(model));
            while (Volatile.Read(ref s_quotes) < 6 || Volatile.Read(ref s_audits) < 2)
            {
                Thread.Sleep(10);
            }

            Patient.Ready();
        }

        // Each asks for the same thing; a quote needs three simulations and an audit one. They take turns, so that the shares
        // do not depend on how many processors there are.
        private static readonly SemaphoreSlim s_quoteTurn = new SemaphoreSlim(1);
        private static readonly SemaphoreSlim s_auditTurn = new SemaphoreSlim(0);

        private static async Task QuoteRequests(QuoteService service)
        {
            while (true)
            {
                await s_quoteTurn.WaitAsync();
                await service.HandleQuoteAsync(s_quotes);
                Interlocked.Increment(ref s_quotes);
                Work.Done();
                s_auditTurn.Release();
            }
        }

        private static async Task AuditRequests(AuditService service)
        {
            while (true)
            {
                await s_auditTurn.WaitAsync();
                await service.HandleAuditAsync(s_audits);
                Interlocked.Increment(ref s_audits);
                Work.Done();
                s_quoteTurn.Release();
            }
        }
    }

    internal sealed class QuoteService
    {
        private readonly PriceModel _model;

        public QuoteService(PriceModel model) => _model = model;

        public async Task<string> HandleQuoteAsync(int number)
        {
            await Task.Yield();
            var price = await ThreeScenariosAsync(number);
            return "quote " + price;
        }

        private async ValueTask<double> ThreeScenariosAsync(int number)
        {
            var sum = 0.0;
            for (var scenario = 0; scenario < 3; scenario++)
            {
                sum += await _model.SimulateAsync(number + scenario).ConfigureAwait(false);
            }

            return sum / 3;
        }
    }

    internal sealed class AuditService
    {
        private readonly PriceModel _model;

        public AuditService(PriceModel model) => _model = model;

        public async Task HandleAuditAsync(int number)
        {
            await Task.Yield();
            await _model.SimulateAsync(number);
        }
    }

    internal sealed class PriceModel
    {
        private readonly int _rounds;

        public PriceModel(int rounds) => _rounds = rounds;

        public async Task<double> SimulateAsync(int seed)
        {
            // The curve comes from a cache, asynchronously: from here on the pool's dispatch loop is below us on the stack.
            await Task.Yield();
            return Walk(seed, _rounds);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static double Walk(int seed, int rounds)
        {
            var state = (uint)seed | 1;
            var value = 100.0;
            for (var round = 0; round < rounds; round++)
            {
                for (var step = 0; step < 1000; step++)
                {
                    state ^= state << 13;
                    state ^= state >> 17;
                    state ^= state << 5;
                    value *= 1 + ((state & 0xFF) - 127.5) / 1e6;
                }
            }

            return value;
        }
    }
}
