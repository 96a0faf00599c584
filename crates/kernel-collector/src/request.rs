//! What to record.

use std::path::PathBuf;

use diagnostics_ipc::Client;
use discovery::DotnetProcess;
use model::ProcessId;
use perf_sampler::{Children, Collect, Options, Scope};

/// A process to record.
#[derive(Clone)]
pub struct Target {
    /// Its pid, as we see it.
    pub pid: ProcessId,
    /// Its runtime; none if it cannot be asked, which leaves its methods without names.
    pub client: Option<Client>,
}

impl From<&DotnetProcess> for Target {
    fn from(process: &DotnetProcess) -> Target {
        let answers = process.reach == discovery::Reach::Ready;
        Target { pid: process.pid, client: process.client().filter(|_| answers) }
    }
}

/// What to record.
#[derive(Clone)]
pub struct Request {
    /// Whose time.
    pub targets: Vec<Target>,
    /// Everything about sampling; its scope is that of the targets.
    pub sampling: Options,
    /// A folder with debug files that were fetched.
    pub debug_cache: Option<PathBuf>,
    /// Whether names are waited for before the first sample.
    pub names: NamesFirst,
}

/// Whether code has names before its first sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamesFirst {
    /// Names of what is there are waited for, for a moment: a process that dies then has names.
    Awaited,
    /// For a program that is held at its start: it has no code yet, and tells of all that comes.
    Later,
    /// As if awaited, for a process that has not compiled anything for a while: where its memory shows what comes nevertheless, it is
    /// not listened to, but asked once more at the end. What has gone by then has no name.
    Once,
}

impl Request {
    /// The usual, for one side of time.
    #[must_use]
    pub fn new(targets: Vec<Target>, collect: Collect) -> Request {
        let scope = Scope::Processes(targets.iter().map(|target| target.pid).collect());
        let sampling = Options { collect, ..Options::new(scope) };
        Request { targets, sampling, debug_cache: None, names: NamesFirst::Awaited }
    }

    pub(crate) fn follows_children(&self) -> bool {
        self.sampling.children == Children::Followed
    }
}
