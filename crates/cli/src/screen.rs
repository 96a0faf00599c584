//! What the user's terminal can show.

use std::io::IsTerminal;

use clap::ValueEnum;
use reports::{Colour, TerminalStyle};

/// Width of reports that go to a file or a pipe.
const DEFAULT_WIDTH: usize = 80;
/// Lists that go to a pipe are not cut: somebody may be searching in them.
const PIPE_WIDTH: usize = 4000;

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColourChoice {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What the user's terminal can show.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    width: Option<usize>,
    colour: bool,
    error_colour: bool,
    /// Whether progress can be shown as a line that changes.
    pub live_progress: bool,
}

impl Screen {
    /// Looks at the terminal and the environment.
    pub fn detect(choice: ColourChoice) -> Screen {
        let allowed = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let wants = |is_terminal: bool| match choice {
            ColourChoice::Auto => is_terminal && allowed,
            ColourChoice::Always => true,
            ColourChoice::Never => false,
        };
        let stdout = std::io::stdout();
        let width = stdout
            .is_terminal()
            .then(|| rustix::termios::tcgetwinsize(&stdout).ok())
            .flatten()
            .map(|size| usize::from(size.ws_col))
            .filter(|&columns| columns >= 20);
        Screen {
            width,
            colour: wants(stdout.is_terminal()),
            error_colour: wants(std::io::stderr().is_terminal()),
            live_progress: std::io::stderr().is_terminal(),
        }
    }

    /// For a report: as wide as the terminal, within what is pleasant to read.
    pub fn report_style(&self) -> TerminalStyle {
        let width = self.width.unwrap_or(DEFAULT_WIDTH).min(120);
        TerminalStyle { width, colour: colour(self.colour) }
    }

    /// For a list: the whole terminal, and uncut when nobody looks at it.
    pub fn list_style(&self) -> TerminalStyle {
        TerminalStyle { width: self.width.unwrap_or(PIPE_WIDTH), colour: colour(self.colour) }
    }

    /// Paints a word of an error message.
    pub fn paint_error(&self, word: &str, style: anstyle::Style) -> String {
        if self.error_colour { format!("{style}{word}{style:#}") } else { word.to_owned() }
    }
}

fn colour(yes: bool) -> Colour {
    if yes { Colour::Always } else { Colour::Never }
}
