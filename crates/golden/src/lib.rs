//! Golden files: what users see, kept in the repository and compared by tests.
//!
//! In: a text a test produced and the path of the file that holds the accepted one. Out: nothing, or a panic
//! that shows both texts between rulers and says how to accept the change. With `DRDOTNET_BLESS=1`
//! (`cargo xtask bless`) the file is written instead.
//!
//! ```no_run
//! golden::check(concat!(env!("CARGO_MANIFEST_DIR"), "/golden/help.txt"), "Usage: ...\n");
//! ```
#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;

/// Compares `actual` with the file at `path`; see the crate's documentation.
///
/// # Panics
/// When the texts differ, which is the point of it.
#[track_caller]
pub fn check(path: impl AsRef<Path>, actual: &str) {
    let path = path.as_ref();
    if std::env::var_os("DRDOTNET_BLESS").is_some_and(|value| value == "1") {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)
                .unwrap_or_else(|error| panic!("creating {}: {error}", parent.display()));
        }
        fs::write(path, actual).unwrap_or_else(|error| panic!("writing {}: {error}", path.display()));
        return;
    }
    let expected = fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask bless` to make it", path.display()));
    if expected != actual {
        let first = expected.lines().zip(actual.lines()).position(|(a, b)| a != b);
        let line = first.unwrap_or_else(|| expected.lines().count().min(actual.lines().count())) + 1;
        panic!(
            "{} differs from line {line}; run `cargo xtask bless` to accept the change\n\
             ----- accepted -----\n{expected}\n----- got -----\n{actual}\n--------------------",
            path.display()
        );
    }
}
