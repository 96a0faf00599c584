//! Which client libraries there are, and what is asked of them.

use diagnostics_ipc::{Level, Provider};
use facts::CallsKind;

/// The event source that passes on what libraries tell.
pub(super) const BRIDGE: &str = "Microsoft-Diagnostics-DiagnosticSource";
/// Its keyword `Events`.
const EVENTS: u64 = 0x2;

/// How much is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Only which call it is, and whether it failed: some hundred bytes for each.
    Count,
    /// Also to whom, and what.
    Whom,
}

/// A library that tells listeners within the process when a call begins and when it ends.
pub(super) struct Library {
    pub(super) kind: CallsKind,
    /// The name of its listener.
    pub(super) source: &'static str,
    /// What it says when a call begins.
    pub(super) begin: &'static str,
    /// What it says when a call ends.
    pub(super) end: &'static str,
    /// What it says when a call ends with an exception instead.
    pub(super) errors: &'static [&'static str],
    /// What it says of an exception beside the end, without the id of the call.
    pub(super) complaint: Option<&'static str>,
    /// What tells a call from others.
    id: &'static str,
    /// To whom and what, when it begins.
    whom: &'static str,
    /// How it went, when it ends.
    outcome: &'static str,
}

/// What a command is, by the properties that all of ADO.NET has.
const COMMAND: &str =
    ";Place=Command.Connection.DataSource;Database=Command.Connection.Database;Text=Command.CommandText";

/// The older pair of events of HTTP, because the newer one makes the library start an activity for each call and send its id
/// along; these change nothing. Never `RequestUri.Host`: it throws for an address that is not complete, within the program's call.
pub(super) const LIBRARIES: &[Library] = &[
    Library {
        kind: CallsKind::Http,
        source: "HttpHandlerDiagnosticListener",
        begin: "System.Net.Http.Request",
        end: "System.Net.Http.Response",
        errors: &[],
        complaint: Some("System.Net.Http.Exception"),
        id: "LoggingRequestId",
        whom: ";Place=Request.RequestUri.OriginalString",
        outcome: ";Status=Response.StatusCode;Outcome=RequestTaskStatus",
    },
    Library {
        kind: CallsKind::Database,
        source: "SqlClientDiagnosticListener",
        begin: "Microsoft.Data.SqlClient.WriteCommandBefore",
        end: "Microsoft.Data.SqlClient.WriteCommandAfter",
        errors: &["Microsoft.Data.SqlClient.WriteCommandError"],
        complaint: None,
        id: "OperationId",
        whom: COMMAND,
        outcome: "",
    },
    Library {
        kind: CallsKind::Database,
        source: "SqlClientDiagnosticListener",
        begin: "System.Data.SqlClient.WriteCommandBefore",
        end: "System.Data.SqlClient.WriteCommandAfter",
        errors: &["System.Data.SqlClient.WriteCommandError"],
        complaint: None,
        id: "OperationId",
        whom: COMMAND,
        outcome: "",
    },
    Library {
        kind: CallsKind::Database,
        source: "Microsoft.EntityFrameworkCore",
        begin: "Microsoft.EntityFrameworkCore.Database.Command.CommandExecuting",
        end: "Microsoft.EntityFrameworkCore.Database.Command.CommandExecuted",
        errors: &[
            "Microsoft.EntityFrameworkCore.Database.Command.CommandError",
            "Microsoft.EntityFrameworkCore.Database.Command.CommandCanceled",
        ],
        complaint: None,
        id: "CommandId",
        whom: COMMAND,
        outcome: "",
    },
];

/// Libraries that only have activities (.NET 5). All activities of all sources would change what programs send to each other, so
/// only those of database clients are asked for; `Record` keeps them out of what a monitoring product exports.
pub(super) const ACTIVITY_SOURCES: &[&str] = &["Npgsql", "MySqlConnector"];

/// Namespaces of libraries between a program and a call, beside those of the framework.
const BETWEEN: &[&str] = &[
    "System.",
    "Microsoft.",
    "Npgsql.",
    "MySqlConnector.",
    "MySql.Data.",
    "Dapper.",
    "Polly.",
    "Refit.",
    "RestSharp.",
    "Flurl.",
    "Grpc.",
    "OpenTelemetry.",
];

/// Whether a method is of a library that only passes calls on.
pub(crate) fn is_between(method: &str) -> bool {
    BETWEEN.iter().any(|namespace| method.starts_with(namespace))
}

/// The bridge, asked for the calls of all libraries.
pub(crate) fn provider(detail: Detail) -> Provider {
    let mut lines = Vec::new();
    for library in LIBRARIES {
        let Library { source, begin, end, errors, id, .. } = library;
        let whom = if detail == Detail::Whom { library.whom } else { "" };
        lines.push(format!("{source}/{begin}:-Id={id}{whom}"));
        lines.push(format!("{source}/{end}:-Id={id}{}", library.outcome));
        let message = if detail == Detail::Whom { ";Message=Exception.Message" } else { "" };
        if let Some(complaint) = library.complaint.filter(|_| detail == Detail::Whom) {
            // It has no id of its call; any word will do.
            lines.push(format!("{source}/{complaint}:-Id=Request.Method{whom}{message}"));
        }
        lines.extend(errors.iter().map(|error| format!("{source}/{error}:-Id={id}{message}")));
    }
    let tags = if detail == Detail::Whom { ";Tags=TagObjects.*Enumerate" } else { "" };
    lines.extend(
        ACTIVITY_SOURCES.iter().map(|source| format!("[AS]{source}/-Record:-Id;Outcome=Status{tags}")),
    );
    Provider {
        // Quoted, because parts of a line are parted by what parts arguments.
        arguments: format!("FilterAndPayloadSpecs=\"{}\"", lines.join("\n")),
        ..Provider::new(BRIDGE, EVENTS, Level::Informational)
    }
}
