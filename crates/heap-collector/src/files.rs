//! The target's own files.

use std::path::PathBuf;
use std::sync::OnceLock;

use process_view::Process;

use crate::bundle::Bundle;
use crate::owners::Assemblies;

/// An assembly above this size is not looked into.
const LARGEST_ASSEMBLY: u64 = 256 << 20;

/// The files of a process, in its own mount namespace, and those within its executable.
#[derive(Debug)]
pub struct ProcessFiles {
    process: Process,
    bundle: OnceLock<Option<Bundle>>,
}

impl ProcessFiles {
    /// The files of a process.
    #[must_use]
    pub fn of(process: Process) -> ProcessFiles {
        ProcessFiles { process, bundle: OnceLock::new() }
    }

    fn bundle(&self) -> Option<&Bundle> {
        let executable = || PathBuf::from(format!("/proc/{}/exe", self.process.id));
        self.bundle.get_or_init(|| Bundle::open(&executable())).as_ref()
    }
}

impl Assemblies for ProcessFiles {
    fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        let file = self.process.read_file(path.as_ref(), LARGEST_ASSEMBLY).ok();
        file.or_else(|| {
            let name = path.rsplit('/').next().unwrap_or(path);
            self.bundle()?.assembly(name, LARGEST_ASSEMBLY)
        })
    }
}
