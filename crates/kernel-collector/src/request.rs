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
}

impl Request {
    /// The usual, for one side of time.
    #[must_use]
    pub fn new(targets: Vec<Target>, collect: Collect) -> Request {
        let scope = Scope::Processes(targets.iter().map(|target| target.pid).collect());
        Request { targets, sampling: Options { collect, ..Options::new(scope) }, debug_cache: None }
    }

    pub(crate) fn follows_children(&self) -> bool {
        self.sampling.children == Children::Followed
    }
}
