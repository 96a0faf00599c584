//! Chores of the workspace. `cargo xtask` lists them; a new one is one line in [`TASKS`] and one function.
#![forbid(unsafe_code)]

mod bench;
mod cargo;
mod cases;
mod check;
mod clinic;
mod fuzz;
mod measure;
mod suite;

use std::process::ExitCode;

use anyhow::{Result, bail};
use testbed::Testbed;

/// One chore.
struct Task {
    name: &'static str,
    help: &'static str,
    run: fn(&[String]) -> Result<()>,
}

#[rustfmt::skip]
const TASKS: &[Task] = &[
    Task { name: "test",    help: "prepare the real runtimes, then run every test: test [--changed [BASE]] [OPTION...]", run: test },
    Task { name: "check",   help: "format, clippy, documentation and house rules", run: |_| check::check() },
    Task { name: "ci",      help: "test, then check: what CI runs", run: |args| { test(args)?; check::check() } },
    Task { name: "testbed", help: "prepare the real runtimes and patients, and say where they are", run: |_| testbed() },
    Task { name: "bless",   help: "accept what users see now: rewrite the golden files", run: bless },
    Task { name: "bench",   help: "measure what we claim: bench [NAME]", run: bench::bench },
    Task { name: "clinic",  help: "examine every patient, and tell what was found: clinic [PATIENT,...|all] [RUNTIME,...]", run: clinic::clinic },
    Task { name: "cases",   help: "judge the recorded cases of all patients; cases record [PATIENT,...|all] [RUNTIME,...] records them", run: cases::cases },
    Task { name: "fuzz",    help: "feed the parsers with bad bytes: fuzz [TARGET] [SECONDS]", run: fuzz::fuzz },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<()> {
    let Some((name, rest)) = arguments.split_first() else {
        println!("cargo xtask <task>\n");
        for task in TASKS {
            println!("  {:<9}{}", task.name, task.help);
        }
        return Ok(());
    };
    match TASKS.iter().find(|task| task.name == name) {
        Some(task) => (task.run)(rest),
        None => bail!("no task '{name}'; `cargo xtask` lists them"),
    }
}

/// Runs every test; other options go to the runner as they are.
fn test(arguments: &[String]) -> Result<()> {
    testbed()?;
    suite::run(arguments)
}

fn testbed() -> Result<()> {
    let testbed = Testbed::open()?;
    testbed.prepare_all()?;
    println!("{}", testbed.describe());
    Ok(())
}

fn bless(arguments: &[String]) -> Result<()> {
    testbed()?;
    let words =
        ["test", "--workspace", "--no-fail-fast"].into_iter().chain(arguments.iter().map(String::as_str));
    cargo::run(cargo::command(words).env("DRDOTNET_BLESS", "1"))?;
    println!("look at the changes with git diff before you keep them");
    Ok(())
}
