//! `--redact`: whether texts of the target's data may be shown.
//!
//! The choice is made once, before anything is read, and holds for all that this process shows and keeps. Crates below
//! get it as an argument; what they cannot hide is refused here instead of being shown.

use std::sync::OnceLock;

use discovery::DotnetProcess;
use discovery::secrets::redact_arguments;
use model::Redaction;
use profilers::REDACT;
use sessions::Session;

use crate::exit_code::Code;
use crate::explain::Failure;

/// Makes the choice for every command.
const VARIABLE: &str = "DRDOTNET_REDACT";

static CHOSEN: OnceLock<Redaction> = OnceLock::new();

/// Takes the user's choice, typed or in the environment.
pub fn choose(is_typed: bool) {
    let in_environment = || std::env::var_os(VARIABLE).is_some_and(|value| !value.is_empty() && value != "0");
    let choice = if is_typed || in_environment() { Redaction::On } else { Redaction::Off };
    // Only `main` calls this, once.
    let _ = CHOSEN.set(choice);
}

/// The user's choice.
pub fn chosen() -> Redaction {
    CHOSEN.get().copied().unwrap_or_default()
}

/// A process as it may be shown.
pub fn shown(mut process: DotnetProcess) -> DotnetProcess {
    if chosen() == Redaction::On {
        process.redact();
    }
    process
}

/// A command line as it may be shown, when no more than its text is known.
pub fn command_line(line: &str) -> String {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    redact_arguments(&words, chosen()).join(" ")
}

/// Refuses to write a file that holds the target's data as it is.
pub fn refuse_raw(what: &str) -> Result<(), Failure> {
    match chosen() {
        Redaction::Off => Ok(()),
        Redaction::On => Err(Failure::new(Code::CannotRedact, format!("{what} cannot be redacted"))
            .why("it holds the data of the process as it is")
            .next(format!("leave --redact out ({VARIABLE} unset) and guard the file"))
            .next("drdotnet run NAME --redact   asks one question and keeps no raw data")),
    }
}

/// Refuses to show a session that was kept as it was: what is a name and what is data is not known any more.
pub fn refuse_kept(session: &Session) -> Result<(), Failure> {
    if chosen() == Redaction::Off || is_redacted(session) {
        return Ok(());
    }
    let folder = session.folder.file_name().unwrap_or_default().to_string_lossy();
    Err(Failure::new(Code::CannotRedact, format!("session {folder} cannot be redacted any more"))
        .why("it was kept without --redact, and a kept report does not tell data from names")
        .next(format!("drdotnet run {} --redact ...   makes one without data", session.manifest.profiler)))
}

/// Whether a session was made with `--redact`.
pub fn is_redacted(session: &Session) -> bool {
    session.manifest.parameters.contains_key(REDACT)
}
