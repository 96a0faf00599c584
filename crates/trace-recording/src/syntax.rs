//! Texts that do not follow their grammar, with the place where they stop doing so.

use std::ops::Range;

use thiserror::Error;

/// A text that does not follow its grammar.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{option}: {problem}")]
pub struct SyntaxError {
    /// The option it was given to.
    pub option: &'static str,
    /// What was typed.
    pub text: String,
    /// Which bytes of it are wrong; empty where something is missing.
    pub at: Range<usize>,
    /// What is wrong with them.
    pub problem: String,
    /// What is expected instead.
    pub expected: String,
}

/// A part of what was typed that knows where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    option: &'static str,
    whole: &'a str,
    start: usize,
    end: usize,
}

impl<'a> Piece<'a> {
    pub fn whole(option: &'static str, text: &'a str) -> Self {
        Piece { option, whole: text, start: 0, end: text.len() }
    }

    pub fn text(&self) -> &'a str {
        self.whole.get(self.start..self.end).unwrap_or_default()
    }

    /// Without spaces around it.
    pub fn trim(self) -> Self {
        let text = self.text();
        let start = self.start + (text.len() - text.trim_start().len());
        Piece { start, end: start + text.trim().len(), ..self }
    }

    pub fn is_empty(&self) -> bool {
        self.text().trim().is_empty()
    }

    /// A part of it, by its own bytes.
    pub fn part(&self, range: Range<usize>) -> Self {
        Piece { start: self.start + range.start, end: self.start + range.end, ..*self }
    }

    /// What lies between separators; `is_separator` sees every character once, in order.
    pub fn split(self, mut is_separator: impl FnMut(char) -> bool) -> Vec<Piece<'a>> {
        let mut pieces = Vec::new();
        let mut start = 0;
        for (at, c) in self.text().char_indices() {
            if is_separator(c) {
                pieces.push(self.part(start..at));
                start = at + c.len_utf8();
            }
        }
        pieces.push(self.part(start..self.end - self.start));
        pieces
    }

    /// What stands before the first such character, and what stands behind it.
    pub fn cut(self, separator: char) -> (Piece<'a>, Option<Piece<'a>>) {
        match self.text().find(separator) {
            Some(at) => {
                let behind = at + separator.len_utf8();
                (self.part(0..at), Some(self.part(behind..self.end - self.start)))
            }
            None => (self, None),
        }
    }

    pub fn wrong(&self, problem: impl Into<String>, expected: impl Into<String>) -> SyntaxError {
        SyntaxError {
            option: self.option,
            text: self.whole.to_owned(),
            at: self.start..self.end,
            problem: problem.into(),
            expected: expected.into(),
        }
    }
}
