//! The agent's library.

use std::fmt::Write;
use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use crate::left_behind::LIBRARY_PREFIX;

/// The agent, as `build.rs` made it.
pub(crate) const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/drdotnet-agent.so"));

/// The name of its file: one per build, so that a process which has this build mapped is given it again, and one which has
/// another build mapped is not given the wrong one.
#[must_use]
pub fn library_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let mut name = LIBRARY_PREFIX.to_owned();
        for byte in Sha256::digest(LIBRARY).iter().take(8) {
            let _ = write!(name, "{byte:02x}");
        }
        name + ".so"
    })
}

/// Its bytes.
#[must_use]
pub fn library() -> &'static [u8] {
    LIBRARY
}
