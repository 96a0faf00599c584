//! cargo-nextest: one process a test, with a place and a limit for each by what tests/live-tests.txt says of it.
//!
//! ```text
//! 1  quiet                   many at once
//! 2  processor, processors   as many as there are processors; those that start no program beside them, at the lowest priority
//! 3  little                  many at once; at its end machine, one at a time
//! ```

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use testbed::{LiveTest, LiveTests, Needs};

use super::Place;
use super::results::Results;
use crate::cargo;

/// Tests at once for each processor, of those that wait most of the time.
pub const AT_ONCE: usize = 8;
/// The same of those that need quiet: with more, programs had no processor for half of the time in which they could run, and a checkup of
/// an old runtime no time for its last looks.
pub const QUIET_AT_ONCE: usize = 6;
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

/// Runs the tests of the chosen packages, and the examples of their documentation.
pub fn run(
    place: &Place,
    listed: &LiveTests,
    chosen: &[String],
    rest: &[String],
    examples: Option<Command>,
) -> Result<Results> {
    let folder = cargo::built("suite");
    std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    let runner = Runner { place, listed, chosen, rest, folder, processors };
    if !rest.is_empty() {
        return runner.turn(&Turn {
            what: "the tests",
            only: None,
            at_once: AT_ONCE * processors,
            is_beside: false,
        });
    }
    runner.all(examples)
}

/// What all turns share.
struct Runner<'a> {
    place: &'a Place,
    listed: &'a LiveTests,
    chosen: &'a [String],
    rest: &'a [String],
    /// For settings and results.
    folder: PathBuf,
    processors: usize,
}

/// Tests that run together.
struct Turn {
    what: &'static str,
    /// Which, in nextest's language; all if it does not say.
    only: Option<String>,
    at_once: usize,
    /// Beside another turn, and only with what that leaves of the processors.
    is_beside: bool,
}

impl Runner<'_> {
    /// All tests, by what they need.
    fn all(&self, examples: Option<Command>) -> Result<Results> {
        let (many, quiet) = (AT_ONCE * self.processors, QUIET_AT_ONCE * self.processors);
        let turn = |what, needs: &[Needs], at_once| Turn {
            what,
            only: Some(self.with_needs(needs)),
            at_once,
            is_beside: false,
        };
        let mut results = self.turn(&turn("the tests that need quiet", &[Needs::Quiet], quiet))?;
        let beside = Turn {
            what: "the tests that start no program",
            only: Some(format!("not ({})", self.with_needs(&Needs::ALL))),
            at_once: self.processors,
            is_beside: true,
        };
        let both = std::thread::scope(|scope| {
            let beside = scope.spawn(|| {
                let mut results = self.turn(&beside)?;
                if let Some(examples) = &examples {
                    results.note(&mut at_lowest_priority(examples), "the examples of the documentation")?;
                }
                Ok::<_, anyhow::Error>(results)
            });
            let needs = [Needs::Processor, Needs::Processors];
            let own = self.turn(&turn("the tests that need processors", &needs, self.processors));
            [own, beside.join().unwrap_or_else(|_| bail!("the tests that start no program"))]
        });
        for one in both {
            results.add(one?);
        }
        results.add(self.turn(&turn("the other tests", &[Needs::Little, Needs::Machine], many))?);
        Ok(results)
    }

    /// The listed tests with such needs, in nextest's language.
    fn with_needs(&self, needs: &[Needs]) -> String {
        let tests: Vec<&LiveTest> =
            self.listed.tests.iter().filter(|test| needs.contains(&test.needs)).collect();
        if tests.is_empty() { "none()".to_owned() } else { any_of(&tests) }
    }

    fn turn(&self, turn: &Turn) -> Result<Results> {
        let name = if turn.is_beside { "beside" } else { "suite" };
        let (settings, junit) =
            (self.folder.join(format!("{name}.toml")), self.folder.join(format!("{name}.xml")));
        std::fs::write(&settings, configuration(self.listed, self.processors, turn.at_once, &junit))
            .context("writing nextest's settings")?;
        let _ = std::fs::remove_file(&junit);
        let mut command = cargo::command(["nextest", "run", "--profile", "suite", "--no-tests", "pass"]);
        command.arg("--config-file").arg(&settings).args(self.chosen).args(self.rest);
        if let Some(only) = &turn.only {
            command.args(["-E", only]);
        }
        self.place.prepare(&mut command);
        if turn.is_beside {
            command = at_lowest_priority(&command);
        }
        println!("\n{}:", turn.what);
        let mut results = Results::default();
        results.note(&mut command, turn.what)?;
        // Where nothing could be built there is none.
        if let Ok(text) = std::fs::read_to_string(&junit) {
            results.read_junit(&text)?;
        }
        Ok(results)
    }
}

/// The same command, which gets of the processors what others leave.
fn at_lowest_priority(command: &Command) -> Command {
    let mut low = Command::new("nice");
    low.args(["-n", "19"]).arg(command.get_program()).args(command.get_args());
    low.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        low.current_dir(folder);
    }
    low
}

/// The settings for this suite.
fn configuration(listed: &LiveTests, processors: usize, at_once: usize, junit: &Path) -> String {
    let mut text = format!(
        "[profile.suite]\nfail-fast = false\ntest-threads = {}\nstatus-level = \"leak\"\n\
         final-status-level = \"fail\"\nfailure-output = \"immediate\"\n\
         slow-timeout = {{ period = \"{PERIOD_SECONDS}s\", terminate-after = {} }}\n\n\
         [profile.suite.junit]\npath = {junit:?}\nstore-success-output = true\n",
        at_once,
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
        let text = configuration(&listed, 2, 14, Path::new("junit.xml"));
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
