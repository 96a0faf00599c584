//! Holds a running test to what it has said of itself in `tests/live-tests.txt`.

use std::collections::HashMap;
use std::env;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::live_tests::{LIVE_TESTS, LiveTests};

/// The test that runs in this thread: its package and its name. `None` where nobody can tell.
fn current_test() -> Option<(String, String)> {
    // One process a test: the runner says which.
    if let (Ok(program), Ok(name)) = (env::var("NEXTEST_BINARY_ID"), env::var("NEXTEST_TEST_NAME")) {
        return Some((program.split("::").next().unwrap_or_default().to_owned(), name));
    }
    // The harness of `cargo test` names its threads after the tests.
    let name = std::thread::current().name().filter(|name| name.contains("::"))?.to_owned();
    Some((env::var("CARGO_PKG_NAME").ok()?, name))
}

/// The list, if this is a checkout of the repository.
fn listed() -> Option<&'static LiveTests> {
    static LISTED: OnceLock<Option<LiveTests>> = OnceLock::new();
    let read = || {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(LIVE_TESTS);
        match std::fs::read_to_string(file).ok()?.parse() {
            Ok(listed) => Some(listed),
            Err(error) => panic!("{error}"),
        }
    };
    LISTED.get_or_init(read).as_ref()
}

/// A test is about to start a program: it must be listed.
///
/// # Panics
/// When it is not, with what is to be done.
pub(crate) fn admit() {
    let (Some((package, name)), Some(listed)) = (current_test(), listed()) else { return };
    assert!(
        listed.find(&package, &name).is_some(),
        "this test starts a program, and {LIVE_TESTS} does not say for how many seconds it watches it. \
         Add a line there: `SECONDS little {package} {name}`"
    );
}

/// The test that runs now is about to watch a program for so long: all that it watches must stay within what it has said.
///
/// # Panics
/// When it does not, with what is to be done.
pub fn watching(time: Duration) {
    static WATCHED: OnceLock<Mutex<HashMap<(String, String), f64>>> = OnceLock::new();
    let (Some(test), Some(listed)) = (current_test(), listed()) else { return };
    let mut watched = WATCHED.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    let sum = watched.entry(test.clone()).or_default();
    *sum += time.as_secs_f64();
    let (sum, (package, name)) = (*sum, test);
    drop(watched);
    let said = listed.find(&package, &name).map_or(0.0, |test| test.seconds);
    // Durations are written with two digits at most.
    assert!(
        sum <= said + 0.01,
        "this test watches programs for {sum} s so far, and {LIVE_TESTS} says {said} s: `{package} {name}`"
    );
}

/// What chooses among runtimes where a test takes one of several: `DRDOTNET_SEED`, else 0. The suite prints it.
pub fn seed() -> usize {
    env::var("DRDOTNET_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0)
}

/// Two of several, as the [`seed`] says: for a test that fills a processor for seconds on each of them. Each has its turn in every
/// second run.
pub fn two_of<T: Copy>(all: &[T]) -> Vec<T> {
    let first = seed() % all.len().max(1);
    (0..all.len().min(2))
        .filter_map(|turn| all.get((first + turn * all.len() / 2) % all.len()).copied())
        .collect()
}

/// Whether this process runs nothing but the test `name`, which measures itself. Where other tests run in the same process, a
/// second one is started for it, which must succeed, and there is nothing left to do here.
///
/// # Panics
/// When the test fails in its own process.
pub fn alone(name: &str) -> bool {
    const ALONE: &str = "DRDOTNET_TEST_ALONE";
    if env::var_os("NEXTEST_TEST_NAME").is_some() || env::var_os(ALONE).is_some() {
        return true;
    }
    let program = env::current_exe().expect("this program has a file");
    let status = Command::new(program)
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(ALONE, "1")
        .stdin(Stdio::null())
        .status()
        .expect("it starts once more");
    assert!(status.success(), "{name} in a process of its own: {status}");
    false
}
