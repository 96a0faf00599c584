//! What the integration tests share.

use std::time::{Duration, Instant};

/// How long things may take that take no time on an idle machine.
pub const LONG: Duration = Duration::from_secs(30);

/// A healthy patient that needs little.
pub const QUIET: &str = "healthy-idle-service";

/// Waits for a condition.
pub fn wait_until(what: &str, mut happened: impl FnMut() -> bool) {
    let until = Instant::now() + LONG;
    while !happened() {
        assert!(Instant::now() < until, "after {LONG:?} it was not so that {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
