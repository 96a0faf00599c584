//! `drdotnet`: finds what is wrong with a running .NET process.
//!
//! ```text
//! args (as typed) --> commands --> discovery, profilers, sessions --> reports --> stdout
//!                        |
//!                        +-- Failure --> explain: what, why, what next --> stderr, exit code
//! ```
//!
//! Answers go to standard output; everything else (progress, hints, errors) goes to standard error, so that
//! `--json` can be piped. Only `main` ends the process.
#![forbid(unsafe_code)]

mod args;
mod clock;
mod commands;
mod control;
mod exit_code;
mod explain;
mod layout;
mod output;
mod progress;
mod redaction;
mod screen;
mod selection;
mod tui;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = args::parse(std::env::args_os());
    redaction::choose(arguments.redact);
    let screen = screen::Screen::detect(arguments.color);
    match commands::dispatch(arguments.command, &screen) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::to_stderr(&failure.text(&screen));
            failure.exit_code()
        }
    }
}
