//! Named sets of providers. Names and contents are those scripts know from dotnet-trace.

use diagnostics_ipc::{Level, Provider};

/// The provider of the runtime's own events.
pub const CLR_PROVIDER: &str = "Microsoft-Windows-DotNETRuntime";
/// The provider of stack samples of all threads.
pub const SAMPLE_PROVIDER: &str = "Microsoft-DotNETCore-SampleProfiler";
/// What is recorded when nothing is asked for.
pub const DEFAULT_PROFILES: [&str; 2] = ["dotnet-common", "dotnet-sampled-thread-time"];

/// Rundown that a profile asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileRundown {
    /// The runtime's own choice: names of all methods.
    Default,
    /// Only these groups, and none at all where a runtime cannot choose: names are not needed.
    OnlyOrNone(u64),
}

/// A provider of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileProvider {
    /// Its name.
    pub name: &'static str,
    /// Its groups of events.
    pub keywords: u64,
    /// How much detail.
    pub level: Level,
    /// Its arguments as they are sent.
    pub arguments: &'static str,
}

/// A named set of providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: &'static str,
    /// What one gets.
    pub description: &'static str,
    /// Its providers.
    pub providers: &'static [ProfileProvider],
    /// Which names it needs at the end.
    pub rundown: ProfileRundown,
}

const fn provider(name: &'static str, keywords: u64, level: Level) -> ProfileProvider {
    ProfileProvider { name, keywords, level, arguments: "" }
}

/// Every keyword the sampler has.
const SAMPLER: ProfileProvider = provider(SAMPLE_PROVIDER, 0xF000_0000_0000, Level::Informational);

/// SqlClient and Entity Framework commands, as DiagnosticSource is told to send them.
const DATABASE_COMMANDS: &str = concat!(
    "FilterAndPayloadSpecs=\"",
    "SqlClientDiagnosticListener/System.Data.SqlClient.WriteCommandBefore@Activity1Start:",
    "-Command;Command.CommandText;ConnectionId;Operation;Command.Connection.ServerVersion;Command.CommandTimeout;",
    "Command.CommandType;Command.Connection.ConnectionString;Command.Connection.Database;",
    "Command.Connection.DataSource;Command.Connection.PacketSize\r\n",
    "SqlClientDiagnosticListener/System.Data.SqlClient.WriteCommandAfter@Activity1Stop:\r\n",
    "Microsoft.EntityFrameworkCore/Microsoft.EntityFrameworkCore.Database.Command.CommandExecuting@Activity2Start:",
    "-Command.CommandText;Command;ConnectionId;IsAsync;Command.Connection.ClientConnectionId;",
    "Command.Connection.ServerVersion;Command.CommandTimeout;Command.CommandType;",
    "Command.Connection.ConnectionString;Command.Connection.Database;Command.Connection.DataSource;",
    "Command.Connection.PacketSize\r\n",
    "Microsoft.EntityFrameworkCore/Microsoft.EntityFrameworkCore.Database.Command.CommandExecuted@Activity2Stop:",
    "\""
);

/// All profiles, in the order in which they are listed.
pub const PROFILES: &[Profile] = &[
    Profile {
        name: "dotnet-common",
        description: "The runtime's events at little cost: GC, loading, JIT, exceptions, threads",
        providers: &[provider(CLR_PROVIDER, 0x10_0003_801D, Level::Informational)],
        rundown: ProfileRundown::Default,
    },
    Profile {
        name: "dotnet-sampled-thread-time",
        description: "Stacks of all threads, many times a second: where wall time goes",
        providers: &[SAMPLER],
        rundown: ProfileRundown::Default,
    },
    Profile {
        name: "gc-verbose",
        description: "Every garbage collection, and allocations sampled by type",
        providers: &[provider(CLR_PROVIDER, 0x8003, Level::Verbose)],
        rundown: ProfileRundown::Default,
    },
    Profile {
        name: "gc-collect",
        description: "Garbage collections only, at very little cost",
        providers: &[
            provider(CLR_PROVIDER, 0x1, Level::Informational),
            provider("Microsoft-Windows-DotNETRuntimePrivate", 0x1, Level::Informational),
        ],
        rundown: ProfileRundown::OnlyOrNone(0x1),
    },
    Profile {
        name: "database",
        description: "Commands of ADO.NET (SqlClient) and Entity Framework Core",
        providers: &[
            provider("System.Threading.Tasks.TplEventSource", 0x80, Level::Informational),
            ProfileProvider {
                name: "Microsoft-Diagnostics-DiagnosticSource",
                keywords: 0x3,
                level: Level::Verbose,
                arguments: DATABASE_COMMANDS,
            },
        ],
        rundown: ProfileRundown::Default,
    },
    Profile {
        name: "cpu-sampling",
        description: "The default of older tools: sampled stacks and many runtime events",
        providers: &[SAMPLER, provider(CLR_PROVIDER, 0x14_C14F_CCBD, Level::Informational)],
        rundown: ProfileRundown::Default,
    },
];

impl Profile {
    /// The profile of that name, in any case.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Profile> {
        PROFILES.iter().find(|profile| profile.name.eq_ignore_ascii_case(name))
    }
}

impl ProfileProvider {
    /// As it is asked for.
    #[must_use]
    pub fn provider(&self) -> Provider {
        Provider {
            arguments: self.arguments.to_owned(),
            ..Provider::new(self.name, self.keywords, self.level)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_descriptions_fit_a_line() {
        for (index, profile) in PROFILES.iter().enumerate() {
            assert!(PROFILES[..index].iter().all(|earlier| earlier.name != profile.name), "{}", profile.name);
            assert!(profile.description.len() <= 79, "{}", profile.description);
            assert!(!profile.providers.is_empty());
        }
        assert!(DEFAULT_PROFILES.iter().all(|name| Profile::by_name(name).is_some()));
        assert_eq!(Profile::by_name("GC-Verbose").map(|profile| profile.name), Some("gc-verbose"));
    }
}
