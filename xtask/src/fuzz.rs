//! Fuzzing with cargo-fuzz, which is installed into the cache when it is missing.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use testbed::Testbed;

use crate::cargo::{command, output, root, run};

/// How long a target runs when nothing is said.
const DEFAULT_SECONDS: u64 = 60;

/// Runs one target, or all of them in turn.
pub fn fuzz(arguments: &[String]) -> Result<()> {
    let seconds = arguments.get(1).map_or(Ok(DEFAULT_SECONDS), |text| text.parse()).context("SECONDS")?;
    let tool = cargo_fuzz()?;
    let all = targets()?;
    let chosen: Vec<&String> = match arguments.first().map(String::as_str) {
        None | Some("all") => all.iter().collect(),
        Some(name) => all.iter().filter(|target| *target == name).collect(),
    };
    if chosen.is_empty() {
        bail!("no such target; there are: {}", all.join(", "));
    }
    for target in chosen {
        println!("fuzzing {target} for {seconds} s");
        plant_seeds(target)?;
        let mut fuzzing = Command::new(&tool);
        fuzzing.current_dir(root()).args(["fuzz", "run", target]);
        if has_nightly() {
            fuzzing.env("RUSTUP_TOOLCHAIN", "nightly");
        } else {
            // The instrumentation needs unstable flags, which the stable compiler takes when told so.
            fuzzing.env("RUSTC_BOOTSTRAP", "1");
        }
        fuzzing.args(["--", &format!("-max_total_time={seconds}"), "-max_len=65536", "-timeout=10"]);
        run(&mut fuzzing)?;
    }
    Ok(())
}

fn targets() -> Result<Vec<String>> {
    let mut names: Vec<String> = std::fs::read_dir(root().join("fuzz/fuzz_targets"))?
        .flatten()
        .filter_map(|entry| entry.path().file_stem().map(|name| name.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    Ok(names)
}

/// Real files are the seeds of the targets that read files: random bytes hardly ever are one.
fn plant_seeds(target: &str) -> Result<()> {
    let sources: &[(&str, &str)] = match target {
        "contract_descriptor" => {
            &[("crates/runtime-memory/fixtures", "json"), ("crates/symbols/fixtures", "dll")]
        }
        "cases" => &[("tests/cases", "case")],
        "reports" => &[("crates/reports/tests/golden", "json")],
        "nettrace" => &[("crates/nettrace/fixtures", "nettrace")],
        "stored_profile" => &[("crates/stored-profiles/fixtures", "drprof")],
        "portable_pdb" => &[("crates/symbols/fixtures", "pdb"), ("crates/symbols/fixtures", "dll")],
        _ => return Ok(()),
    };
    let corpus = root().join("fuzz/corpus").join(target);
    std::fs::create_dir_all(&corpus)?;
    for (folder, extension) in sources {
        for entry in std::fs::read_dir(root().join(folder))?.flatten() {
            if entry.path().extension().is_some_and(|found| found == *extension) {
                std::fs::copy(entry.path(), corpus.join(entry.file_name()))?;
            }
        }
    }
    Ok(())
}

fn has_nightly() -> bool {
    output(Command::new("rustup").args(["toolchain", "list"])).is_ok_and(|list| list.contains("nightly"))
}

/// The installed cargo-fuzz, or one of our own in the cache.
fn cargo_fuzz() -> Result<PathBuf> {
    let installed = Command::new("cargo-fuzz").arg("--version").output();
    if installed.is_ok_and(|answer| answer.status.success()) {
        return Ok(PathBuf::from("cargo-fuzz"));
    }
    let folder = Testbed::open()?.cache_dir().join("cargo-fuzz");
    let tool = folder.join("bin/cargo-fuzz");
    if !tool.exists() {
        println!("installing cargo-fuzz into {}", folder.display());
        run(command(["install", "cargo-fuzz", "--locked", "--root"]).arg(&folder))?;
    }
    Ok(tool)
}
