//! What came of the tests: how long each took, what was skipped, and what failed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// Tests in the table of the slowest.
const SLOWEST: usize = 20;
/// What a test says that proves nothing here.
const SKIPPED: &str = "skipped: ";

/// One test.
#[derive(Debug, Clone, PartialEq)]
struct Test {
    /// Its program: package, and the kind of program.
    program: String,
    name: String,
    seconds: f64,
}

/// Of all tests.
#[derive(Debug, Default)]
pub struct Results {
    tests: Vec<Test>,
    /// The time of the test programs of each package, where that of the tests is not known.
    programs: BTreeMap<String, Duration>,
    /// How many of them there were.
    unnamed: usize,
    /// How often each reason was given.
    skipped: BTreeMap<String, usize>,
    failed: Vec<String>,
}

impl Results {
    /// Runs a command; a failure is kept for the end.
    pub fn note(&mut self, command: &mut Command, what: &str) -> Result<()> {
        let status = command.status().with_context(|| format!("starting {:?}", command.get_program()))?;
        if !status.success() {
            self.failed.push(format!("{what} ended with {status}"));
        }
        Ok(())
    }

    /// Runs a test program by its own harness and shows what it prints, but for what tests that passed have said.
    pub fn note_harness(&mut self, command: &mut Command, what: &str) -> Result<()> {
        let mut running = command
            .arg("--show-output")
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {:?}", command.get_program()))?;
        let output = running.stdout.take().context("its output")?;
        let (mut ran, mut is_of_passed) = (0, false);
        for line in BufReader::new(output).split(b'\n') {
            let line = line.context("reading what the tests print")?;
            let line = String::from_utf8_lossy(&line);
            self.note_skipped(&line);
            // The last one counts: a test may run another harness and show what it printed.
            ran = tests_run(&line).unwrap_or(ran);
            is_of_passed = match line.trim_end() {
                "successes:" => true,
                "failures:" => false,
                line => is_of_passed && !line.starts_with("test result: "),
            };
            if !is_of_passed {
                println!("{line}");
            }
        }
        self.unnamed += ran;
        let status = running.wait().context("waiting for the tests")?;
        if !status.success() {
            self.failed.push(format!("{what} ended with {status}"));
        }
        Ok(())
    }

    fn note_skipped(&mut self, line: &str) {
        if let Some(reason) = line.trim().strip_prefix(SKIPPED) {
            *self.skipped.entry(reason.to_owned()).or_default() += 1;
        }
    }

    /// A program with tests of a package ran for so long; how long each of them took is not known.
    pub fn took(&mut self, package: &str, time: Duration) {
        *self.programs.entry(package.to_owned()).or_default() += time;
    }

    /// Takes over what came of other tests.
    pub fn add(&mut self, other: Results) {
        self.tests.extend(other.tests);
        self.failed.extend(other.failed);
        self.unnamed += other.unnamed;
        for (package, time) in other.programs {
            *self.programs.entry(package).or_default() += time;
        }
        for (reason, times) in other.skipped {
            *self.skipped.entry(reason).or_default() += times;
        }
    }

    /// What failed, in one line.
    pub fn failed(&self) -> Option<String> {
        (!self.failed.is_empty()).then(|| self.failed.join("; "))
    }

    /// Reads what nextest has written.
    pub fn read_junit(&mut self, text: &str) -> Result<()> {
        let mut reader = Reader::from_str(text);
        let mut is_output = false;
        loop {
            match reader.read_event().context("reading what nextest wrote")? {
                Event::Start(start) | Event::Empty(start) if start.name().as_ref() == b"testcase" => {
                    self.tests.push(Test {
                        program: attribute(&start, "classname")?,
                        name: attribute(&start, "name")?,
                        seconds: attribute(&start, "time")?.parse().unwrap_or_default(),
                    });
                }
                Event::Start(start) => {
                    is_output = matches!(start.name().as_ref(), b"system-out" | b"system-err");
                }
                Event::End(_) => is_output = false,
                Event::Text(text) if is_output => {
                    let text = String::from_utf8_lossy(&text).into_owned();
                    text.lines().for_each(|line| self.note_skipped(line));
                }
                Event::Eof => return Ok(()),
                _ => {}
            }
        }
    }

    /// Wall and processor time, the time by crate, the slowest, and what was not tested.
    pub fn table(&self, wall: Duration) -> String {
        let processor = children_time().unwrap_or_default();
        let mut text = format!(
            "\n{} tests, {:.0} s of wall time, {:.0} s of processor time (building included)\n",
            self.tests.len() + self.unnamed,
            wall.as_secs_f64(),
            processor.as_secs_f64()
        );
        let mut crates: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
        for test in &self.tests {
            let package = test.program.split("::").next().unwrap_or_default();
            let sum = crates.entry(package).or_default();
            *sum = (sum.0 + 1, sum.1 + test.seconds);
        }
        for (package, time) in &self.programs {
            crates.entry(package).or_default().1 += time.as_secs_f64();
        }
        let mut crates: Vec<_> = crates.into_iter().collect();
        crates.sort_by(|one, other| other.1.1.total_cmp(&one.1.1));
        if !crates.is_empty() {
            let _ = writeln!(text, "\n{:<20}{:>6}{:>9}", "crate", "tests", "seconds");
        }
        for (package, (count, seconds)) in crates {
            let _ = writeln!(text, "{package:<20}{count:>6}{seconds:>9.1}");
        }
        let mut slowest: Vec<&Test> = self.tests.iter().collect();
        slowest.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
        if !slowest.is_empty() {
            let _ = writeln!(text, "\n{:>7}  the slowest tests", "seconds");
        }
        for test in slowest.into_iter().take(SLOWEST) {
            let _ = writeln!(text, "{:>7.1}  {} {}", test.seconds, test.program, test.name);
        }
        let reasons: Vec<String> =
            self.skipped.iter().map(|(reason, times)| format!("{reason} ({times})")).collect();
        let _ = match self.skipped.values().sum::<usize>() {
            0 => writeln!(text, "\nskipped: nothing"),
            count => writeln!(text, "\nskipped, in whole or in part: {count}: {}", reasons.join("; ")),
        };
        text
    }
}

fn attribute(start: &BytesStart<'_>, name: &str) -> Result<String> {
    let found = start.try_get_attribute(name).ok().flatten().with_context(|| format!("no {name}"))?;
    Ok(found.normalized_value(quick_xml::XmlVersion::Implicit1_0).context("an attribute")?.into_owned())
}

/// Processor time of all processes that we have started and that have ended.
fn children_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the name, which may hold spaces: state is the first field, and theirs are the 14th and 15th.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields.get(13..15)?.iter().filter_map(|field| field.parse::<u64>().ok()).sum();
    Some(Duration::from_secs_f64(ticks_to_seconds(ticks)))
}

#[expect(clippy::cast_precision_loss, reason = "seconds of a suite")]
fn ticks_to_seconds(ticks: u64) -> f64 {
    // The kernel's unit for user space on every Linux that we know.
    const A_SECOND: f64 = 100.0;
    ticks as f64 / A_SECOND
}

/// How many tests a harness says that it ran: `test result: ok. 5 passed; 1 failed; ...`.
fn tests_run(line: &str) -> Option<usize> {
    let counts = line.strip_prefix("test result: ")?.split_once(". ")?.1;
    let number = |what: &str| -> Option<usize> {
        counts.split("; ").find_map(|part| part.strip_suffix(what)?.trim().parse().ok())
    };
    Some(number("passed")? + number("failed")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const JUNIT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="2">
  <testsuite name="cli::end-to-end" tests="1">
    <testcase name="ps::a" classname="cli::end-to-end" time="2.500"><system-err>skipped: it needs root
thread</system-err></testcase>
  </testsuite>
  <testsuite name="model"><testcase name="b" classname="model" time="0.004"/></testsuite>
</testsuites>"#;

    #[test]
    fn times_and_reasons_are_read() {
        let mut results = Results::default();
        results.read_junit(JUNIT).unwrap();
        let table = results.table(Duration::from_secs(3));
        assert!(table.starts_with("\n2 tests, 3 s of wall time"), "{table}");
        assert!(table.contains("    2.5  cli::end-to-end ps::a"), "{table}");
        assert!(table.contains("cli                      1      2.5"), "{table}");
        assert!(table.contains("skipped, in whole or in part: 1: it needs root (1)"), "{table}");
    }

    #[test]
    fn the_tests_of_a_harness_are_counted() {
        let line = "test result: FAILED. 105 passed; 2 failed; 0 ignored; 0 measured; 238 filtered out; finished in 96.56s";
        assert_eq!(tests_run(line), Some(107));
        assert_eq!(tests_run("test a::b ... ok"), None);
    }
}
