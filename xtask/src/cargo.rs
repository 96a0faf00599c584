//! Running cargo and other programs.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The root of the workspace.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().map(PathBuf::from).unwrap_or_default()
}

/// Something that cargo has built.
pub fn built(path: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    target.join(path)
}

/// A cargo command at the root of the workspace.
pub fn command(words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(words).current_dir(root());
    command
}

/// Runs cargo; a failure is an error.
pub fn cargo(words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<()> {
    run(&mut command(words))
}

/// Runs a program; a failure is an error.
pub fn run(command: &mut Command) -> Result<()> {
    let words: Vec<String> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
    let line = format!("{} {}", command.get_program().to_string_lossy(), words.join(" "));
    let status = command.status().with_context(|| format!("starting {line}"))?;
    if !status.success() {
        bail!("{line}: {status}");
    }
    Ok(())
}

/// What a program prints.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("starting {:?}", command.get_program()))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
