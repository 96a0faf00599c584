using System;
using System.Collections;
using System.Collections.Generic;
using System.Data;
using System.Data.Common;
using System.Diagnostics;
using System.Threading;
using System.Threading.Tasks;

// A stand-in for the SQL Server client: an ADO.NET provider without a server. What it tells listeners within the process has the names
// and the shape that Microsoft.Data.SqlClient 5 and newer give it, and its types have that library's namespace.
namespace Microsoft.Data.SqlClient
{
    internal sealed class SqlConnection : DbConnection
    {
        private readonly string _server;
        private readonly string _database;

        public SqlConnection(string server, string database) => (_server, _database) = (server, database);

        public override string ConnectionString { get; set; } = "";

        public override string Database => _database;

        public override string DataSource => _server;

        public override string ServerVersion => "16.0";

        public override ConnectionState State => ConnectionState.Open;

        public override void ChangeDatabase(string databaseName) => throw new NotSupportedException();

        public override void Close()
        {
        }

        public override void Open()
        {
        }

        protected override DbTransaction BeginDbTransaction(IsolationLevel isolationLevel) => throw new NotSupportedException();

        protected override DbCommand CreateDbCommand() => new SqlCommand { Connection = this };
    }

    internal sealed class SqlCommand : DbCommand
    {
        private static readonly DiagnosticListener s_listener = new DiagnosticListener("SqlClientDiagnosticListener");

        /// <summary>How long the server takes.</summary>
        public int Milliseconds { get; set; }

        /// <summary>Whether the server refuses.</summary>
        public bool Fails { get; set; }

        public override string CommandText { get; set; } = "";

        public override int CommandTimeout { get; set; } = 30;

        public override CommandType CommandType { get; set; } = CommandType.Text;

        public override bool DesignTimeVisible { get; set; }

        public override UpdateRowSource UpdatedRowSource { get; set; }

        public new SqlConnection Connection { get; set; }

        protected override DbConnection DbConnection
        {
            get => Connection;
            set => Connection = (SqlConnection)value;
        }

        protected override DbParameterCollection DbParameterCollection => throw new NotSupportedException();

        protected override DbTransaction DbTransaction { get; set; }

        public override void Cancel()
        {
        }

        public override void Prepare()
        {
        }

        public override int ExecuteNonQuery() => (int)ExecuteScalar();

        public override object ExecuteScalar()
        {
            var operation = WriteBefore("ExecuteScalar");
            Thread.Sleep(Milliseconds);
            return Finish(operation, "ExecuteScalar");
        }

        public override async Task<object> ExecuteScalarAsync(CancellationToken cancellationToken)
        {
            var operation = WriteBefore("ExecuteScalarAsync");
            await Task.Delay(Milliseconds, cancellationToken).ConfigureAwait(false);
            return Finish(operation, "ExecuteScalarAsync");
        }

        protected override DbParameter CreateDbParameter() => throw new NotSupportedException();

        protected override DbDataReader ExecuteDbDataReader(CommandBehavior behavior) => throw new NotSupportedException();

        private Guid WriteBefore(string operation)
        {
            const string Name = "Microsoft.Data.SqlClient.WriteCommandBefore";
            if (!s_listener.IsEnabled(Name))
            {
                return Guid.Empty;
            }

            var id = Guid.NewGuid();
            s_listener.Write(Name, new SqlClientCommandNote(id, operation, this, null));
            return id;
        }

        private object Finish(Guid id, string operation)
        {
            if (!Fails)
            {
                Write("Microsoft.Data.SqlClient.WriteCommandAfter", new SqlClientCommandNote(id, operation, this, null));
                return 1;
            }

            var error = new InvalidOperationException("Invalid object name 'dbo.Prices'.");
            Write("Microsoft.Data.SqlClient.WriteCommandError", new SqlClientCommandNote(id, operation, this, error));
            throw error;
        }

        private static void Write(string name, SqlClientCommandNote note)
        {
            if (s_listener.IsEnabled(name))
            {
                s_listener.Write(name, note);
            }
        }
    }

    /// <summary>The three notes of the real client in one: it is a list of its properties, too.</summary>
    internal sealed class SqlClientCommandNote : IReadOnlyList<KeyValuePair<string, object>>
    {
        public SqlClientCommandNote(Guid operationId, string operation, SqlCommand command, Exception exception)
        {
            OperationId = operationId;
            Operation = operation;
            Timestamp = Stopwatch.GetTimestamp();
            Command = command;
            Exception = exception;
        }

        public Guid OperationId { get; }

        public string Operation { get; }

        public long Timestamp { get; }

        public Guid? ConnectionId => null;

        public long? TransactionId => null;

        public SqlCommand Command { get; }

        public Exception Exception { get; }

        public int Count => 2;

        public KeyValuePair<string, object> this[int index] => index == 0
            ? new KeyValuePair<string, object>(nameof(OperationId), OperationId)
            : new KeyValuePair<string, object>(nameof(Command), Command);

        public IEnumerator<KeyValuePair<string, object>> GetEnumerator()
        {
            yield return this[0];
            yield return this[1];
        }

        IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
    }
}
