//! How much of everything there may be.

/// How much a file may hold. What is counted is what it becomes in memory, so that a small file that unpacks to a large
/// one, or says the same thing again and again, is refused in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Profiles.
    pub profiles: u64,
    /// Processes with names.
    pub processes: u64,
    /// Frames of all profiles.
    pub frames: u64,
    /// Nodes of the stacks of all profiles.
    pub nodes: u64,
    /// Threads of all profiles.
    pub threads: u64,
    /// Samples of all profiles.
    pub samples: u64,
    /// Bytes of all texts.
    pub text_bytes: u64,
}

impl Default for Limits {
    /// Enough for an hour at 999 samples a second on four processors.
    fn default() -> Limits {
        Limits {
            profiles: 1 << 14,
            processes: 1 << 16,
            frames: 1 << 22,
            nodes: 1 << 24,
            threads: 1 << 20,
            samples: 1 << 24,
            text_bytes: 1 << 28,
        }
    }
}
