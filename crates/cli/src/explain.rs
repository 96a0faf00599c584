//! Errors to advice: what failed, why with the values seen, what to do next.

mod agent;
mod counters;
mod dump;
mod find;
mod heap;
mod ipc;
mod launch;
pub mod profile_file;
mod recording;
mod sampling;
mod session;
mod setting;
mod symbols;
pub mod trace_file;

pub use dump::no_dump;
pub use find::unreachable;
pub use heap::{no_heap, rounded};
pub use symbols::{no_fetch, no_libraries, nothing_came};

use anstyle::{AnsiColor, Style};
use profilers::ProfilerError;
use reports::{LONGEST_PROSE, printable_within};

use crate::exit_code::Code;
use crate::layout::hanging;
use crate::screen::Screen;

/// A failure as the user sees it.
#[derive(Debug)]
pub struct Failure {
    /// Exit code.
    pub code: Code,
    what: String,
    why: Option<String>,
    next: Vec<String>,
    choices: Vec<String>,
    /// A line of input, and marks under what is wrong with it.
    pointer: Option<Box<(String, String)>>,
    /// The exit code of a program that we started, which stands for ours.
    program_code: Option<u8>,
    /// Everything has been said; only the exit code is left.
    is_said: bool,
}

impl Failure {
    /// What failed.
    pub fn new(code: Code, what: impl Into<String>) -> Failure {
        Failure {
            code,
            what: what.into(),
            why: None,
            next: Vec::new(),
            choices: Vec::new(),
            pointer: None,
            program_code: None,
            is_said: false,
        }
    }

    /// An exit code, when everything has been said.
    pub fn said(code: Code) -> Failure {
        Failure { is_said: true, ..Failure::new(code, "") }
    }

    /// Why.
    #[must_use]
    pub fn why(mut self, why: impl Into<String>) -> Failure {
        self.why = Some(why.into());
        self
    }

    /// What failed, and why, in one line.
    pub fn what(&self) -> String {
        self.why.as_ref().map_or_else(|| self.what.clone(), |why| format!("{}: {why}", self.what))
    }

    /// Adds to why.
    #[must_use]
    pub fn also(mut self, more: &str) -> Failure {
        self.why = Some(self.why.map_or_else(|| more.to_owned(), |why| format!("{why}; {more}")));
        self
    }

    /// What to do next.
    #[must_use]
    pub fn next(mut self, next: impl Into<String>) -> Failure {
        self.next.push(next.into());
        self
    }

    /// All that there is to do next.
    pub fn into_next(self) -> Vec<String> {
        self.next
    }

    /// What to do next, in place of what was said before.
    #[must_use]
    pub fn instead(mut self, next: impl Into<String>) -> Failure {
        self.next = vec![next.into()];
        self
    }

    /// Something to choose from, listed below the advice.
    #[must_use]
    pub fn choice(mut self, choice: impl Into<String>) -> Failure {
        self.choices.push(choice.into());
        self
    }

    /// A line of input, already harmless, and marks under what is wrong with it.
    #[must_use]
    pub fn pointing(mut self, line: String, marks: String) -> Failure {
        self.pointer = Some(Box::new((line, marks)));
        self
    }

    /// Ends with the exit code of a program that we started.
    #[must_use]
    pub fn with_program_code(mut self, code: u8) -> Failure {
        self.program_code = Some(code);
        self
    }

    /// The exit code.
    pub fn exit_code(&self) -> std::process::ExitCode {
        self.program_code.map_or_else(|| self.code.into(), std::process::ExitCode::from)
    }

    /// As text, with what the target said made harmless.
    pub fn text(&self, screen: &Screen) -> String {
        if self.is_said {
            return String::new();
        }
        let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        let dim = Style::new().dimmed();
        let fit = |indent, words: &str| {
            hanging(indent, &printable_within(words, LONGEST_PROSE), screen.error_width())
        };
        let mut text = format!("{} {}\n", screen.paint_error("error:", red), fit(7, &self.what));
        if let Some((line, marks)) = self.pointer.as_deref() {
            text += &format!("        {line}\n        {}\n", screen.paint_error(marks, red));
        }
        if let Some(why) = &self.why {
            text += &format!("  {}  {}\n", screen.paint_error("why:", dim), fit(8, why));
        }
        for next in &self.next {
            text += &format!("  {} {}\n", screen.paint_error("next:", dim), fit(8, next));
        }
        for choice in &self.choices {
            text += &format!("        {}\n", fit(10, choice));
        }
        text
    }
}

impl From<ProfilerError> for Failure {
    fn from(error: ProfilerError) -> Failure {
        let what = error.to_string();
        match error {
            ProfilerError::TargetEnded => Failure::new(Code::TargetEnded, what)
                .next("drdotnet ps   lists the processes that are there now"),
            ProfilerError::RuntimeTooOld { .. } => Failure::new(Code::Unsupported, what)
                .next("drdotnet profilers   says which runtime each one needs"),
            ProfilerError::NotVisible { .. } => Failure::new(Code::Unsupported, what).next(
                "share the pid namespace: docker --pid=container:NAME, or shareProcessNamespace in a pod",
            ),
            ProfilerError::Runtime(error) => error.into(),
            ProfilerError::Sampling(error) => error.into(),
            ProfilerError::Agent(error) => error.into(),
            ProfilerError::Heap(error) => error.into(),
            ProfilerError::Earlier(found) if found.next.is_empty() => Failure::new(Code::BadHeapFile, what)
                .next("name another session (drdotnet sessions list) or another .gcdump file"),
            ProfilerError::Earlier(found) => {
                found.next.into_iter().fold(Failure::new(Code::BadHeapFile, what), Failure::next)
            }
            ProfilerError::NoRuntime => {
                Failure::new(Code::DiagnosticsOff, what).next("drdotnet info -p PID   says what is missing")
            }
            _ => Failure::new(Code::Unexpected, what),
        }
    }
}
