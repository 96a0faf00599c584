//! The page: lines of inked text, none wider than the style allows.

use anstyle::{AnsiColor, Style};

use super::text::{cut_end, width, wrap};
use super::{Colour, NARROWEST, TerminalStyle};

/// What a piece of text means; the colour follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    Strong,
    Faint,
    Critical,
    Warning,
    Info,
    Advice,
}

impl Ink {
    fn style(self) -> Style {
        match self {
            Ink::Plain => Style::new(),
            Ink::Strong => Style::new().bold(),
            Ink::Faint => Style::new().dimmed(),
            Ink::Critical => AnsiColor::Red.on_default().bold(),
            Ink::Warning => AnsiColor::Yellow.on_default().bold(),
            Ink::Info => AnsiColor::Cyan.on_default().bold(),
            Ink::Advice => AnsiColor::Green.on_default(),
        }
    }
}

/// A space at which no line is broken: between a number and its unit, say. It is printed as a space.
pub(crate) const GLUE: &str = "\u{a0}";

/// A page under construction.
pub(crate) struct Page {
    width: usize,
    colour: Colour,
    out: String,
}

impl Page {
    pub(crate) fn new(style: &TerminalStyle) -> Self {
        Page { width: style.width.max(NARROWEST), colour: style.colour, out: String::new() }
    }

    /// Columns left beside an indentation.
    pub(crate) fn room(&self, indent: usize) -> usize {
        self.width.saturating_sub(indent)
    }

    pub(crate) fn blank(&mut self) {
        self.out.push('\n');
    }

    /// One line. What is still too wide here is cut: an overlong line would break every line below it.
    pub(crate) fn line(&mut self, pieces: &[(Ink, &str)]) {
        let mut room = self.width;
        let total: usize = pieces.iter().map(|(_, text)| width(text)).sum();
        let last = pieces.iter().rposition(|(_, text)| !text.trim_end().is_empty());
        for (index, (ink, text)) in pieces.iter().enumerate().take(last.map_or(0, |last| last + 1)) {
            let text = if Some(index) == last { text.trim_end() } else { text };
            let text = if total > self.width { cut_end(text, room) } else { text.to_owned() };
            room -= width(&text);
            self.paint(*ink, &text);
        }
        self.out.push('\n');
    }

    /// A prefix and a text that is wrapped; its further lines begin at column `indent`.
    pub(crate) fn hanging(&mut self, prefix: &[(Ink, &str)], indent: usize, ink: Ink, text: &str) {
        // A narrow page has no room to spare for indentation.
        let indent = indent.min(self.width / 2);
        let used: usize = prefix.iter().map(|(_, text)| width(text)).sum();
        if used > self.width / 3 * 2 {
            // A prefix that leaves no room beside it becomes part of the text.
            let prefix: String = prefix.iter().map(|(_, text)| *text).collect();
            return self.hanging(&[], indent, ink, &format!("{prefix} {text}"));
        }
        let lines = wrap(text, self.room(used.max(indent)));
        for (index, line) in lines.iter().map(|line| line.replace(GLUE, " ")).enumerate() {
            if index == 0 {
                let mut pieces = prefix.to_vec();
                pieces.push((ink, &line));
                self.line(&pieces);
            } else {
                self.line(&[(Ink::Plain, &" ".repeat(indent)), (ink, &line)]);
            }
        }
    }

    pub(crate) fn finish(self) -> String {
        self.out
    }

    fn paint(&mut self, ink: Ink, text: &str) {
        let style = ink.style();
        if self.colour == Colour::Never || style == Style::new() || text.trim().is_empty() {
            self.out.push_str(text);
        } else {
            self.out.push_str(&format!("{style}{text}{style:#}"));
        }
    }
}
