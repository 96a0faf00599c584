//! The terminal while a live screen is on it. It is given back as it was, whatever ends the screen.

use std::fs::File;
use std::io::IsTerminal;
use std::os::fd::OwnedFd;

use ratatui::DefaultTerminal;

/// The terminal, in raw mode and on its second screen, until this is dropped. A panic gives it back, too.
pub struct Terminal(DefaultTerminal);

impl Terminal {
    /// Takes the terminal.
    pub fn take() -> std::io::Result<Terminal> {
        ratatui::try_init().map(Terminal).inspect_err(|_| ratatui::restore())
    }

    /// The terminal itself.
    pub fn get(&mut self) -> &mut DefaultTerminal {
        &mut self.0
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The cursor first: the other screen has it visible.
        let _ = self.0.show_cursor();
        ratatui::restore();
    }
}

/// While this lives, what is written to standard error (by us or by a program that we started) does not spoil the screen.
pub struct QuietErrors {
    before: Option<OwnedFd>,
}

impl QuietErrors {
    /// Begins. A standard error that goes to a file is left alone.
    pub fn begin() -> QuietErrors {
        let stderr = std::io::stderr();
        if !stderr.is_terminal() {
            return QuietErrors { before: None };
        }
        let before = rustix::io::dup(&stderr).ok();
        if before.is_some()
            && let Ok(nowhere) = File::options().write(true).open("/dev/null")
        {
            let _ = rustix::stdio::dup2_stderr(nowhere);
        }
        QuietErrors { before }
    }
}

impl Drop for QuietErrors {
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            let _ = rustix::stdio::dup2_stderr(before);
        }
    }
}
