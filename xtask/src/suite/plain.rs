//! `cargo test`, where there is no cargo-nextest: the same tests in threads, those that measure by themselves afterwards.

use std::collections::BTreeMap;

use anyhow::Result;
use testbed::{LiveTests, Needs};

use super::Place;
use super::results::Results;
use crate::cargo;

/// Runs the tests of the chosen packages.
pub fn run(
    place: &Place,
    listed: &LiveTests,
    chosen: &[String],
    rest: &[String],
    results: &mut Results,
) -> Result<()> {
    if !rest.is_empty() {
        let mut command = cargo::command(["test", "--no-fail-fast"]);
        command.args(chosen).args(rest);
        place.prepare(&mut command);
        return results.note(&mut command, "the tests");
    }
    let mut alone: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for test in listed.tests.iter().filter(|test| test.needs == Needs::Machine) {
        alone.entry(&test.package).or_default().push(&test.name);
    }
    let mut beside = cargo::command(["test", "--no-fail-fast", "--tests"]);
    beside.args(chosen).args(["--", "--exact"]);
    for name in alone.values().flatten() {
        beside.args(["--skip", name]);
    }
    place.prepare(&mut beside);
    results.note(&mut beside, "the tests")?;
    let is_chosen = |package: &str| chosen.iter().any(|word| word == "--workspace" || word == package);
    for (package, names) in alone.into_iter().filter(|(package, _)| is_chosen(package)) {
        let mut command =
            cargo::command(["test", "--no-fail-fast", "--tests", "--package", package, "--", "--exact"]);
        command.args(names).arg("--test-threads=1");
        place.prepare(&mut command);
        results.note(&mut command, &format!("the tests of {package} that measure"))?;
    }
    Ok(())
}
