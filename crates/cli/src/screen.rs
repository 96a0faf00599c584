//! What the user's terminal can show.

use std::io::IsTerminal;
use std::os::fd::AsFd;

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
    error_width: Option<usize>,
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
        let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
        Screen {
            width: columns(&stdout),
            error_width: columns(&stderr),
            colour: wants(stdout.is_terminal()),
            error_colour: wants(stderr.is_terminal()),
            live_progress: stderr.is_terminal(),
        }
    }

    /// Columns of the terminal that standard output goes to; none for a file or a pipe.
    pub fn width(&self) -> Option<usize> {
        self.width
    }

    /// Columns of the terminal that standard error goes to; none for a file or a pipe.
    pub fn error_width(&self) -> Option<usize> {
        self.error_width
    }

    /// Whether what goes to standard output may have colour.
    pub fn has_colour(&self) -> bool {
        self.colour
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

fn columns(stream: &(impl IsTerminal + AsFd)) -> Option<usize> {
    let size = stream.is_terminal().then(|| rustix::termios::tcgetwinsize(stream).ok()).flatten()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns >= 20)
}

fn colour(yes: bool) -> Colour {
    if yes { Colour::Always } else { Colour::Never }
}
