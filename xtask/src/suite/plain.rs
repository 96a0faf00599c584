//! Where there is no cargo-nextest: the same tests by the harness of `cargo test`, in the same order of needs.
//!
//! Cargo builds the test programs once; each is started once for every kind of needs that its tests have. So a test shares its
//! process with others, and its time is not known, only that of its crate.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use testbed::{LiveTests, Needs};

use super::Place;
use super::results::Results;
use super::runner::{AT_ONCE, QUIET_AT_ONCE};
use crate::cargo;

/// A test program that cargo has built.
struct Program {
    package: String,
    /// Of its package: tests run there.
    folder: PathBuf,
    file: PathBuf,
}

/// Runs the tests of the chosen packages.
pub fn run(
    place: &Place,
    listed: &LiveTests,
    chosen: &[String],
    rest: &[String],
    examples: Option<Command>,
) -> Result<Results> {
    let mut results = Results::default();
    if !rest.is_empty() {
        let mut command = cargo::command(["test", "--no-fail-fast"]);
        command.args(chosen).args(rest);
        place.prepare(&mut command);
        results.note(&mut command, "the tests")?;
        return Ok(results);
    }
    let programs = build(chosen)?;
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    let turns = [
        (Some(Needs::Quiet), QUIET_AT_ONCE * processors),
        (Some(Needs::Processor), processors),
        (Some(Needs::Processors), 1),
        (None, AT_ONCE * processors),
        (Some(Needs::Machine), 1),
    ];
    for (needs, at_once) in turns {
        for program in &programs {
            let of_package = || listed.tests.iter().filter(|test| test.package == program.package);
            let mut command = Command::new(&program.file);
            command.arg("--exact").arg(format!("--test-threads={at_once}"));
            match needs {
                Some(needs) => {
                    let names: Vec<&str> = of_package()
                        .filter(|test| test.needs == needs)
                        .map(|test| test.name.as_str())
                        .collect();
                    if names.is_empty() {
                        continue;
                    }
                    command.args(names);
                }
                // Whoever is not listed starts no program.
                None => {
                    for test in of_package().filter(|test| test.needs != Needs::Little) {
                        command.args(["--skip", &test.name]);
                    }
                }
            }
            command.current_dir(&program.folder);
            command.env("CARGO_PKG_NAME", &program.package).env("CARGO_MANIFEST_DIR", &program.folder);
            place.prepare(&mut command);
            let begin = Instant::now();
            results
                .note_harness(&mut command, &format!("{} ({})", program.package, program.file.display()))?;
            results.took(&program.package, begin.elapsed());
        }
    }
    if let Some(mut examples) = examples {
        results.note(&mut examples, "the examples of the documentation")?;
    }
    Ok(results)
}

/// Builds all test programs, by one call, so that all have the same features of what they use.
fn build(chosen: &[String]) -> Result<Vec<Program>> {
    let mut command =
        cargo::command(["test", "--no-run", "--tests", "--message-format", "json-render-diagnostics"]);
    command.args(chosen).stderr(std::process::Stdio::inherit());
    let output = command.output().context("starting cargo")?;
    if !output.status.success() {
        bail!("the tests could not be built");
    }
    let mut programs = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: Value = serde_json::from_str(line).context("what cargo says of its work")?;
        if message["profile"]["test"] != true {
            continue;
        }
        let Some(file) = message["executable"].as_str() else { continue };
        let manifest = Path::new(message["manifest_path"].as_str().context("a manifest")?);
        let folder = manifest.parent().context("a folder")?.to_owned();
        let package = folder.file_name().context("a name")?.to_string_lossy().into_owned();
        programs.push(Program { package, folder, file: file.into() });
    }
    Ok(programs)
}
