//! The target's own files.

use process_view::Process;

use crate::owners::Assemblies;

/// An assembly above this size is not looked into.
const LARGEST_ASSEMBLY: u64 = 256 << 20;

/// The files of a process, in its own mount namespace.
#[derive(Debug)]
pub struct ProcessFiles(Process);

impl ProcessFiles {
    /// The files of a process.
    #[must_use]
    pub fn of(process: Process) -> ProcessFiles {
        ProcessFiles(process)
    }
}

impl Assemblies for ProcessFiles {
    fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        self.0.read_file(path.as_ref(), LARGEST_ASSEMBLY).ok()
    }
}
