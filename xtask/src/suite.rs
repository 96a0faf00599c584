//! All tests, and a second look at those that fail.
//!
//! The tests run beside each other against real processes, and some hold what they saw against what the kernel counted in
//! the same moments. A machine that stands still in between makes one of a thousand fail. So a test that failed runs once
//! more, alone. It is named at the end either way. Tests that a target survives us get no second chance: there, one
//! failure in a thousand is what they look for.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cargo::{self, root};

/// Packages whose tests may never fail.
const FINAL: [&str; 2] = ["agent-host", "agent"];
/// More than so many failures are no accident of the machine.
const MOST: usize = 5;

/// Tests that failed in one program.
#[derive(Debug, Default, PartialEq, Eq)]
struct Failed {
    program: PathBuf,
    tests: Vec<String>,
}

/// Runs all tests of the workspace.
pub fn run(arguments: &[String]) -> Result<()> {
    let words =
        ["test", "--workspace", "--no-fail-fast"].into_iter().chain(arguments.iter().map(String::as_str));
    let mut command = cargo::command(words);
    let (reader, writer) = std::io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn().context("starting cargo")?;
    // It holds the other end of the pipe.
    drop(command);
    let mut story = Story::default();
    let mut lines = BufReader::new(reader);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        std::io::stdout().write_all(&line)?;
        story.read(&String::from_utf8_lossy(&line));
        line.clear();
    }
    let status = child.wait()?;
    if status.success() {
        return Ok(());
    }
    let Some(failed) = story.explained() else { bail!("cargo test: {status}") };
    again(&failed)
}

fn again(failed: &[(String, &Failed)]) -> Result<()> {
    let count: usize = failed.iter().map(|(_, failed)| failed.tests.len()).sum();
    if count > MOST {
        bail!("{count} tests failed");
    }
    let mut lines = Vec::new();
    let mut is_final = false;
    for (package, Failed { program, tests }) in failed {
        let folder = [root().join("crates").join(package), root().join(package)];
        let folder = folder.iter().find(|folder| folder.is_dir()).context("a package's folder")?;
        for test in tests {
            println!("\n{package}: {test} failed; once more, alone");
            let passed = !FINAL.contains(&package.as_str()) && passes(program, test, folder)?;
            is_final |= !passed;
            let outcome = if passed { "FAILED beside others, passes alone" } else { "FAILED" };
            lines.push(format!("  {outcome}: {package}: {test}"));
        }
    }
    println!("\nTests that failed:\n{}", lines.join("\n"));
    if is_final {
        bail!("tests failed");
    }
    Ok(())
}

fn passes(program: &Path, test: &str, folder: &Path) -> Result<bool> {
    let mut command = Command::new(root().join(program));
    command.args(["--exact", test, "--nocapture"]).current_dir(folder).env("CARGO_MANIFEST_DIR", folder);
    Ok(command.status().with_context(|| format!("starting {}", program.display()))?.success())
}

/// What cargo told.
#[derive(Default)]
struct Story {
    program: PathBuf,
    tests: Vec<String>,
    failed: Vec<Failed>,
    packages: Vec<String>,
}

impl Story {
    fn read(&mut self, line: &str) {
        let line = line.trim_end();
        if let Some(running) = line.trim_start().strip_prefix("Running ") {
            self.program = running
                .rsplit_once('(')
                .and_then(|(_, path)| path.strip_suffix(')'))
                .map(PathBuf::from)
                .unwrap_or_default();
            self.tests.clear();
        } else if line.trim_start().starts_with("Doc-tests ") {
            self.program = PathBuf::new();
            self.tests.clear();
        } else if let Some(name) =
            line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"))
        {
            self.tests.push(name.to_owned());
        } else if line.starts_with("test result: FAILED") {
            let (program, tests) = (self.program.clone(), std::mem::take(&mut self.tests));
            self.failed.push(Failed { program, tests });
        } else if let Some(target) = line
            .strip_prefix("    `-p ")
            .or_else(|| line.strip_prefix("error: test failed, to rerun pass `-p "))
            && let Some(package) = target.split([' ', '`']).next()
        {
            self.packages.push(package.to_owned());
        }
    }

    /// Every failure with its package; `None` when cargo failed for something else, or a program without saying which test.
    fn explained(&self) -> Option<Vec<(String, &Failed)>> {
        let whole = self
            .failed
            .iter()
            .all(|failed| !failed.tests.is_empty() && !failed.program.as_os_str().is_empty());
        // With several programs cargo lists all again at the end.
        let packages = &self.packages[self.packages.len().checked_sub(self.failed.len())?..];
        if !whole || self.failed.is_empty() || self.packages.len() > 2 * self.failed.len() {
            return None;
        }
        Some(packages.iter().cloned().zip(&self.failed).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn story(text: &str) -> Story {
        let mut story = Story::default();
        text.lines().for_each(|line| story.read(line));
        story
    }

    const TWO: &str = "     Running unittests src/lib.rs (target/debug/deps/golden-1)
test result: ok. 3 passed
     Running tests/sampler/main.rs (target/debug/deps/sampler-2)
---- off_cpu::adds_up stdout ----
test result: FAILED. 32 passed; 1 failed
error: test failed, to rerun pass `-p perf-sampler --test sampler`
     Running tests/viewers/main.rs (target/debug/deps/viewers-3)
---- html::a stdout ----
---- html::b stdout ----
test result: FAILED. 1 passed; 2 failed
error: test failed, to rerun pass `-p profile-formats --test viewers`
error: 2 targets failed:
    `-p perf-sampler --test sampler`
    `-p profile-formats --test viewers`
";

    #[test]
    fn failures_are_known_with_their_package() {
        let story = story(TWO);
        let failed = story.explained().expect("all is told");
        let told: Vec<_> = failed
            .iter()
            .map(|(package, one)| (package.as_str(), one.program.to_str().expect("a path"), one.tests.len()))
            .collect();
        let expected = [
            ("perf-sampler", "target/debug/deps/sampler-2", 1),
            ("profile-formats", "target/debug/deps/viewers-3", 2),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_is_not_a_failed_test_is_not_explained() {
        assert!(story("error: could not compile `cli`").explained().is_none());
        let crash = "     Running tests/a.rs (target/debug/deps/a-1)
error: test failed, to rerun pass `-p cli --test a`
  process didn't exit successfully: (signal: 11, SIGSEGV: invalid memory reference)";
        assert!(story(crash).explained().is_none());
        // A crash beside an ordinary failure.
        assert!(story(&format!("{crash}\n{}", TWO.replace("2 targets", "3 targets"))).explained().is_none());
        // A failed example of the documentation has no program to run again.
        let example = "   Doc-tests model
---- src/lib.rs - (line 3) stdout ----
test result: FAILED. 0 passed; 1 failed
error: doctest failed, to rerun pass `-p model --doc`";
        assert!(story(example).explained().is_none());
    }
}
