//! What each test that starts a process has said about itself, in `tests/live-tests.txt`: for how many seconds it watches
//! programs, and what it needs of the machine meanwhile.
//!
//! ```text
//! tests/live-tests.txt --> the runner: who runs beside whom, and for how long at most
//!                      --> here: a test that starts a process must be listed, and may not watch for longer than it says
//! ```
//!
//! Seconds of watching are those that a test asks for (`--duration 2s`), not those that pass, so that a busy machine
//! makes nobody fail.

use std::fmt;
use std::str::FromStr;

/// The file, below the root of the repository.
pub const LIVE_TESTS: &str = "tests/live-tests.txt";

/// What a test needs of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Needs {
    /// Next to nothing: what it watches rests, or need not be quick. Many of them run at once, and make way for others.
    Little,
    /// Little, but nobody who fills the processors meanwhile: what it watches is judged by when things happen in it.
    Quiet,
    /// A processor: what it watches works as hard as it can, and that is to be seen.
    Processor,
    /// All processors, or as many as there are: what it watches works in several threads as hard as it can.
    Processors,
    /// All of it: it measures losses, pauses or throughput.
    Machine,
}

/// One line of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveTest {
    /// The package that the test belongs to.
    pub package: String,
    /// Its name, with its modules.
    pub name: String,
    /// For how many seconds it watches programs at most.
    pub seconds: f64,
    /// What it needs meanwhile.
    pub needs: Needs,
}

/// The whole file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveTests {
    /// What all tests with the same needs may watch for together, in seconds.
    pub budgets: Vec<(Needs, f64)>,
    /// The tests, in the order of the file.
    pub tests: Vec<LiveTest>,
}

/// A line that cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{LIVE_TESTS}:{line}: {reason}")]
pub struct LiveTestsError {
    line: usize,
    reason: String,
}

impl Needs {
    /// All of them, the modest first.
    pub const ALL: [Needs; 5] =
        [Needs::Little, Needs::Quiet, Needs::Processor, Needs::Processors, Needs::Machine];

    /// The word in the file.
    pub fn word(self) -> &'static str {
        match self {
            Needs::Little => "little",
            Needs::Quiet => "quiet",
            Needs::Processor => "processor",
            Needs::Processors => "processors",
            Needs::Machine => "machine",
        }
    }
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Needs {
    type Err = String;

    fn from_str(word: &str) -> Result<Needs, String> {
        Needs::ALL.into_iter().find(|needs| needs.word() == word).ok_or_else(|| {
            let words = Needs::ALL.map(Needs::word).join("`, `");
            format!("`{word}` is none of `{words}`")
        })
    }
}

impl FromStr for LiveTests {
    type Err = LiveTestsError;

    fn from_str(text: &str) -> Result<LiveTests, LiveTestsError> {
        let mut all = LiveTests::default();
        for (number, line) in text.lines().enumerate() {
            let wrong = |reason: String| LiveTestsError { line: number + 1, reason };
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = line.split_whitespace().collect();
            let seconds = |word: &str| match word.parse::<f64>() {
                Ok(seconds) if seconds.is_finite() && seconds >= 0.0 => Ok(seconds),
                _ => Err(wrong(format!("`{word}` is no number of seconds"))),
            };
            match words.as_slice() {
                [] => {}
                ["budget", needs, most] => {
                    all.budgets.push((needs.parse().map_err(wrong)?, seconds(most)?));
                }
                [watches, needs, package, name] => {
                    let test = LiveTest {
                        package: (*package).to_owned(),
                        name: (*name).to_owned(),
                        seconds: seconds(watches)?,
                        needs: needs.parse().map_err(wrong)?,
                    };
                    if all.find(package, name).is_some() {
                        return Err(wrong(format!("{package} {name} is listed twice")));
                    }
                    all.tests.push(test);
                }
                _ => return Err(wrong("a line is `SECONDS NEEDS PACKAGE TEST`".to_owned())),
            }
        }
        Ok(all)
    }
}

impl LiveTests {
    /// The line of one test.
    pub fn find(&self, package: &str, name: &str) -> Option<&LiveTest> {
        self.tests.iter().find(|test| test.name == name && test.package == package)
    }

    /// What all tests with these needs watch for together, in seconds.
    pub fn watched(&self, needs: Needs) -> f64 {
        self.tests.iter().filter(|test| test.needs == needs).map(|test| test.seconds).sum()
    }

    /// Says what is over its budget, if anything is.
    pub fn over_budget(&self) -> Option<String> {
        let over: Vec<String> = Needs::ALL
            .into_iter()
            .filter_map(|needs| {
                let budget = self.budgets.iter().find(|(one, _)| *one == needs).map_or(0.0, |(_, most)| *most);
                let watched = self.watched(needs);
                (watched > budget).then(|| {
                    format!(
                        "tests that need `{needs}` watch programs for {watched} s in all, and may for {budget} s"
                    )
                })
            })
            .collect();
        (!over.is_empty()).then(|| {
            format!(
                "{}. Let a test watch for less, or ask more of one target instead of starting another; \
                 {LIVE_TESTS} has each test's seconds and says what the budget is made of.",
                over.join("; ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# What they watch.\nbudget little 10\nbudget processor 3 # one at a time\n\n\
                        2.5 little    profilers deadlocks::one\n4 processor cli cpu::two\n";

    #[test]
    fn lines_are_read_and_added_up() {
        let all: LiveTests = FILE.parse().unwrap();
        assert_eq!(all.find("profilers", "deadlocks::one").map(|test| test.seconds), Some(2.5));
        assert_eq!(all.find("cli", "deadlocks::one"), None);
        assert_eq!(all.watched(Needs::Processor), 4.0);
        let over = all.over_budget().unwrap();
        assert!(over.contains("`processor`") && over.contains("4 s") && !over.contains("`little`"), "{over}");
    }

    #[test]
    fn a_wrong_line_is_named() {
        let error = |line: &str| format!("\n{line}").parse::<LiveTests>().unwrap_err().to_string();
        assert!(error("2 much cli a").starts_with("tests/live-tests.txt:2: `much` is none of"));
        assert!(error("-1 little cli a").contains("no number of seconds"));
        assert!(error("1 little cli").contains("a line is"));
        assert!(error("1 little cli a\n1 little cli a").contains("listed twice"));
    }

    #[test]
    fn the_tests_stay_within_their_budget() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/live-tests.txt");
        let all: LiveTests = std::fs::read_to_string(file).unwrap().parse().unwrap();
        assert_eq!(all.over_budget(), None);
    }
}
