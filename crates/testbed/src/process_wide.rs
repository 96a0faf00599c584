//! The one testbed of a test process.

use std::io::Write;
use std::sync::{Mutex, OnceLock};

use crate::error::TestbedError;
use crate::testbed::Testbed;

/// The exit code of a test binary whose tests failed.
const TESTS_FAILED: i32 = 101;

/// The testbed for tests: opened once, and shared by all threads.
///
/// If it cannot be prepared (most often for want of a network), one message goes to standard error and the process
/// ends with exit code 101. That a *target* does not start stays an ordinary error of its own test.
pub fn shared() -> &'static Testbed {
    static SHARED: OnceLock<Testbed> = OnceLock::new();
    SHARED.get_or_init(|| match Testbed::open() {
        Ok(testbed) => testbed.ending_the_process(),
        Err(error) => end_process(&error),
    })
}

/// Says once why nothing can be tested, and ends the process.
#[expect(
    clippy::exit,
    reason = "a hundred tests would each wait for the network and fail with the same text; the harness has no way \
              to stop them, and a panic would stop one thread only"
)]
pub(crate) fn end_process(error: &TestbedError) -> ! {
    // Held until the process is gone, so that a second thread does not print the same.
    static ONLY_ONE: Mutex<()> = Mutex::new(());
    let _only_one = ONLY_ONE.lock();
    let _ = writeln!(std::io::stderr().lock(), "\nerror: the testbed is not usable: {error}");
    std::process::exit(TESTS_FAILED)
}
