//! The environment of .NET processes that we start: ours, without what would change how their runtime behaves.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::process::Command;

/// Prefixes of the variables that a .NET runtime reads, in any case.
const RUNTIME_PREFIXES: [&str; 3] = ["DOTNET_", "COMPLUS_", "CORECLR_"];

/// Set for every .NET process. The first one because many machines have no ICU library.
const ALWAYS: [(&str, &str); 3] = [
    ("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1"),
    ("DOTNET_CLI_TELEMETRY_OPTOUT", "1"),
    ("DOTNET_NOLOGO", "1"),
];

/// What differs from our own environment: `Some` is set, `None` is removed.
pub(crate) type Changes = BTreeMap<OsString, Option<OsString>>;

/// The changes that every .NET process gets.
pub(crate) fn changes() -> Changes {
    let mut changes: Changes = env::vars_os()
        .map(|(name, _)| name)
        .filter(|name| is_for_runtime(name))
        .map(|name| (name, None))
        .collect();
    changes.extend(ALWAYS.map(|(name, value)| (name.into(), Some(value.into()))));
    changes
}

/// Applies [`changes`] to a command.
pub(crate) fn clean(command: &mut Command) {
    apply(&changes(), command);
}

/// Applies `changes` to a command.
pub(crate) fn apply(changes: &Changes, command: &mut Command) {
    for (name, value) in changes {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

fn is_for_runtime(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    RUNTIME_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_the_runtime_are_recognised() {
        for name in ["DOTNET_ROOT", "COMPlus_PerfMapEnabled", "CORECLR_PROFILER"] {
            assert!(is_for_runtime(OsStr::new(name)), "{name}");
        }
        for name in ["PATH", "DRDOTNET_TESTBED", "TMPDIR"] {
            assert!(!is_for_runtime(OsStr::new(name)), "{name}");
        }
    }
}
