//! All tests: who runs beside whom, what came of them, and whether they left something behind.
//!
//! ```text
//! tests/live-tests.txt --> nextest: groups, order, limits --> cargo nextest --> results: times, the slowest, what was skipped
//!                                                        \-> leftovers: processes, sockets, folders
//! ```
//!
//! A test that fails has failed: there is no second chance. Where cargo-nextest is not installed, `cargo test` runs the same
//! tests, in more time.

mod changed;
mod leftovers;
mod plain;
mod results;
mod runner;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;
use testbed::LiveTests;

use crate::cargo::{self, root};
use leftovers::Before;

/// Which tests run.
#[derive(Debug, PartialEq, Eq)]
enum Which {
    All,
    /// Those that a change since this commit can have broken.
    Changed(String),
}

/// What was typed behind `test`.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    which: Which,
    /// For the runner, as it is.
    rest: Vec<String>,
}

impl Asked {
    fn new(arguments: &[String]) -> Asked {
        match arguments.split_first() {
            Some((first, rest)) if first == "--changed" => {
                let base = rest.first().filter(|word| !word.starts_with('-'));
                let rest = rest.iter().skip(usize::from(base.is_some())).cloned().collect();
                Asked { which: Which::Changed(base.map_or("HEAD", String::as_str).to_owned()), rest }
            }
            _ => Asked { which: Which::All, rest: arguments.to_vec() },
        }
    }
}

/// Where a run of the suite keeps what it needs, and how its processes are known.
struct Place {
    temporary: TempDir,
    seed: String,
}

impl Place {
    fn new() -> Result<Place> {
        // Short, because paths of sockets may not be long.
        let temporary = tempfile::Builder::new()
            .prefix("drdotnet-suite-")
            .tempdir()
            .context("making a folder for the suite")?;
        // Open, because some tests become other users; set afterwards, because the umask cuts what a new folder gets.
        let open = Permissions::from_mode(0o1777);
        std::fs::set_permissions(temporary.path(), open)
            .context("opening the suite's folder to other users")?;
        let seed = std::env::var("DRDOTNET_SEED").unwrap_or_else(|_| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            (now.as_secs() % 1000).to_string()
        });
        Ok(Place { temporary, seed })
    }

    /// Makes the tests that a command runs stay here.
    fn prepare(&self, command: &mut Command) {
        command.env("TMPDIR", self.temporary.path()).env("DRDOTNET_SEED", &self.seed);
        command.env(leftovers::MARK, self.temporary.path());
    }
}

/// Runs the tests.
pub fn run(arguments: &[String]) -> Result<()> {
    let begin = Instant::now();
    let asked = Asked::new(arguments);
    let packages = match &asked.which {
        Which::All => None,
        Which::Changed(base) => match changed::packages(base)? {
            changed::Affected::All => None,
            changed::Affected::Some(packages) if packages.is_empty() => {
                println!("nothing that a test could see has changed since {base}");
                return Ok(());
            }
            changed::Affected::Some(packages) => Some(packages),
        },
    };
    let chosen: Vec<String> = match &packages {
        None => vec!["--workspace".to_owned()],
        Some(packages) => packages.iter().flat_map(|name| ["--package".to_owned(), name.clone()]).collect(),
    };
    if let Some(packages) = &packages {
        println!("what has changed, and what uses it: {}", packages.join(", "));
    }
    let listed: LiveTests =
        std::fs::read_to_string(root().join(testbed::LIVE_TESTS)).context(testbed::LIVE_TESTS)?.parse()?;
    let place = Place::new()?;
    println!("seed {} (DRDOTNET_SEED={} chooses the same runtimes again)", place.seed, place.seed);
    let before = Before::look(place.temporary.path());

    let examples = (asked.rest.is_empty() && has_examples(packages.as_deref())).then(|| {
        let mut examples = cargo::command(["test", "--doc", "--no-fail-fast"]);
        examples.args(&chosen);
        place.prepare(&mut examples);
        examples
    });
    let results = if runner::is_installed() {
        runner::run(&place, &listed, &chosen, &asked.rest, examples)?
    } else {
        println!("cargo-nextest is not installed: `cargo test` runs the tests, in more time");
        plain::run(&place, &listed, &chosen, &asked.rest, examples)?
    };
    let left = before.left_behind(place.temporary.path());
    print!("{}", results.table(begin.elapsed()));
    drop(place);
    for line in &left {
        println!("left behind: {line}");
    }
    if !left.is_empty() {
        bail!("tests left {} things behind", left.len());
    }
    println!("left behind: nothing; no process, socket or folder of the tests");
    if let Some(failed) = results.failed() {
        bail!("{failed}");
    }
    Ok(())
}

/// Whether one of the packages has a library, whose documentation may have examples.
fn has_examples(packages: Option<&[String]>) -> bool {
    let has_library = |name: &String| root().join("crates").join(name).join("src/lib.rs").is_file();
    packages.is_none_or(|packages| packages.iter().any(has_library))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_may_follow_changed() {
        let asked =
            |words: &[&str]| Asked::new(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
        let changed = |base: &str, rest: &[&str]| Asked {
            which: Which::Changed(base.to_owned()),
            rest: rest.iter().map(|&word| word.to_owned()).collect(),
        };
        assert_eq!(asked(&["--changed"]), changed("HEAD", &[]));
        assert_eq!(asked(&["--changed", "main~3", "--no-capture"]), changed("main~3", &["--no-capture"]));
        assert_eq!(asked(&["--changed", "-E", "all()"]), changed("HEAD", &["-E", "all()"]));
        assert_eq!(asked(&["-p", "model"]).which, Which::All);
    }
}
