//! cargo-nextest: one process a test, with a place and a limit for each by what tests/live-tests.txt says of it.
//!
//! ```text
//! 1  quiet                   many at once
//! 2  processor, processors   as many as there are processors
//! 3  little, and all tests that start no program: many at once; at its end machine, one at a time
//! ```

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result};
use testbed::{LiveTest, LiveTests, Needs};

use super::Place;
use super::results::Results;
use crate::cargo;

/// Tests at once for each processor, of those that wait most of the time.
pub const AT_ONCE: usize = 7;
/// The unit in which limits are counted.
const PERIOD_SECONDS: f64 = 60.0;
/// What each test may take, whatever it watches: starting programs on a machine that is busy with other tests.
const AT_LEAST_SECONDS: f64 = 180.0;
/// How much longer than it watches a test may take before it is ended as hung.
const PATIENCE: f64 = 6.0;

/// Whether there is a cargo-nextest.
pub fn is_installed() -> bool {
    let mut command = cargo::command(["nextest", "--version"]);
    command.output().is_ok_and(|output| output.status.success())
}

/// Runs the tests of the chosen packages.
pub fn run(
    place: &Place,
    listed: &LiveTests,
    chosen: &[String],
    rest: &[String],
    results: &mut Results,
) -> Result<()> {
    let folder = cargo::built("suite");
    std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let (settings, junit) = (folder.join("nextest.toml"), folder.join("junit.xml"));
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    std::fs::write(&settings, configuration(listed, processors, &junit))
        .context("writing nextest's settings")?;
    let mut run = |filter: &[String], what: &str| -> Result<()> {
        let _ = std::fs::remove_file(&junit);
        let mut command = cargo::command(["nextest", "run", "--profile", "suite", "--no-tests", "pass"]);
        command.arg("--config-file").arg(&settings).args(chosen).args(rest).args(filter);
        place.prepare(&mut command);
        results.note(&mut command, what)?;
        // Where nothing could be built there is none.
        match std::fs::read_to_string(&junit) {
            Ok(text) => results.read_junit(&text),
            Err(_) => Ok(()),
        }
    };
    if !rest.is_empty() {
        return run(&[], "the tests");
    }
    let many = AT_ONCE * processors;
    let (mut earlier, only) = (Vec::new(), |filter: String| ["-E".to_owned(), filter]);
    for (needs, at_once, what) in [
        (&[Needs::Quiet][..], many, "the tests that need quiet"),
        (&[Needs::Processor, Needs::Processors], processors, "the tests that need processors"),
    ] {
        let tests: Vec<&LiveTest> = listed.tests.iter().filter(|test| needs.contains(&test.needs)).collect();
        if tests.is_empty() {
            continue;
        }
        let tests = any_of(&tests);
        earlier.push(format!("({tests})"));
        let at_once = ["--test-threads".to_owned(), at_once.to_string()];
        println!("\n{what}:");
        run(&[only(tests), at_once].concat(), what)?;
    }
    println!("\nthe other tests:");
    let others =
        if earlier.is_empty() { "all()".to_owned() } else { format!("not ({})", earlier.join(" | ")) };
    run(&only(others), "the other tests")
}

/// The settings for this suite.
fn configuration(listed: &LiveTests, processors: usize, junit: &PathBuf) -> String {
    let mut text = format!(
        "[profile.suite]\nfail-fast = false\ntest-threads = {}\nstatus-level = \"leak\"\n\
         final-status-level = \"fail\"\nfailure-output = \"immediate\"\n\
         slow-timeout = {{ period = \"{PERIOD_SECONDS}s\", terminate-after = {} }}\n\n\
         [profile.suite.junit]\npath = {junit:?}\nstore-success-output = true\n",
        AT_ONCE * processors,
        periods(0.0),
    );
    let mut tests: Vec<&LiveTest> = listed.tests.iter().collect();
    tests.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    // One entry for all that are alike: nextest looks through them for each test.
    for same in tests.chunk_by(|one, other| periods(one.seconds) == periods(other.seconds)) {
        for needs in Needs::ALL {
            let alike: Vec<&LiveTest> = same.iter().copied().filter(|test| test.needs == needs).collect();
            let Some(first) = alike.first() else { continue };
            let _ = write!(
                text,
                "\n[[profile.suite.overrides]]\nfilter = '{}'\n\
                 slow-timeout = {{ period = \"{PERIOD_SECONDS}s\", terminate-after = {} }}\n",
                any_of(&alike),
                periods(first.seconds)
            );
            text += &match needs {
                Needs::Little | Needs::Quiet | Needs::Processor => String::new(),
                Needs::Processors => format!("threads-required = {processors}\npriority = -50\n"),
                Needs::Machine => "threads-required = \"num-test-threads\"\npriority = -100\n".to_owned(),
            };
        }
    }
    // The long ones before the short ones, so that none is left over at the end.
    for (priority, seconds) in [(80, 40.0), (60, 20.0), (40, 10.0), (20, 5.0)] {
        let is_long = |test: &&LiveTest| {
            matches!(test.needs, Needs::Little | Needs::Quiet | Needs::Processor) && test.seconds >= seconds
        };
        let long: Vec<&LiveTest> = listed.tests.iter().filter(is_long).collect();
        if !long.is_empty() {
            let names = any_of(&long);
            let _ =
                write!(text, "\n[[profile.suite.overrides]]\nfilter = '{names}'\npriority = {priority}\n");
        }
    }
    text
}

/// Some tests in nextest's language.
fn any_of(tests: &[&LiveTest]) -> String {
    let tests = tests.iter().map(|test| format!("(package(={}) & test(={}))", test.package, test.name));
    tests.collect::<Vec<_>>().join(" | ")
}

/// How many periods a test may take.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few, and not below zero")]
fn periods(seconds: f64) -> u32 {
    ((AT_LEAST_SECONDS + seconds * PATIENCE) / PERIOD_SECONDS).ceil() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_has_a_limit_and_those_that_measure_are_alone_and_last() {
        let listed: LiveTests =
            "1 little a b::c\n30 processor a d\n8 machine e f\n2 processors e g".parse().unwrap();
        let text = configuration(&listed, 2, &PathBuf::from("junit.xml"));
        let part = |name: &str| {
            let part = text.split("[[profile.suite.overrides]]").find(|part| part.contains(name));
            part.unwrap_or_else(|| panic!("{text}")).to_owned()
        };
        assert!(text.contains("test-threads = 14"), "{text}");
        assert!(part("test(=d)").contains("terminate-after = 6"), "{text}");
        assert!(part("test(=f)").contains("threads-required = \"num-test-threads\""), "{text}");
        assert!(part("test(=f)").contains("priority = -100"), "{text}");
        assert!(part("test(=g)").contains("threads-required = 2"), "{text}");
        assert!(part("(package(=a) & test(=b::c))").contains("terminate-after = 4"), "{text}");
    }
}
