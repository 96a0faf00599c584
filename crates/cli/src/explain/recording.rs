//! Recordings that cannot be begun, or not be finished.

use std::io::ErrorKind;

use diagnostics_ipc::IpcError;
use profilers::closest;
use reports::printable;
use trace_recording::{CLR_EVENTS, PROFILES, RecordingError, SyntaxError};
use unicode_width::UnicodeWidthStr;

use super::Failure;
use crate::exit_code::Code;

/// Columns of a line of input that is pointed into; with its indentation it fits every terminal.
const WIDEST: usize = 66;
/// How much of it is shown before the mistake when not all of it fits.
const BEFORE: usize = 30;

impl From<RecordingError> for Failure {
    fn from(error: RecordingError) -> Failure {
        let what = error.to_string();
        match error {
            RecordingError::Syntax(error) => error.into(),
            RecordingError::UnknownProfile { name } => {
                let names = || PROFILES.iter().map(|profile| profile.name);
                let failure = Failure::new(Code::BadTraceRequest, what);
                match closest(&name, names()) {
                    Some(suggestion) => failure.next(format!("did you mean '{suggestion}'?")),
                    None => {
                        let names: Vec<&str> = names().collect();
                        failure
                            .next(format!("drdotnet trace list-profiles   lists them: {}", names.join(", ")))
                    }
                }
            }
            RecordingError::TwiceWithArguments { .. } => Failure::new(Code::BadTraceRequest, what)
                .why("keywords and levels of the same provider add up, arguments do not")
                .next("write all its arguments in one place: Name:Keywords:Level:key=value;key=value"),
            RecordingError::NoProviders => Failure::new(Code::BadTraceRequest, what)
                .next("leave --profile and --providers away for the default, or name at least one"),
            RecordingError::Ipc(error) => session(&error),
            RecordingError::Write { source, .. } => {
                let failure = Failure::new(Code::Disk, what);
                let failure = match source.kind() {
                    ErrorKind::StorageFull | ErrorKind::QuotaExceeded => failure.why("the disk is full"),
                    ErrorKind::ReadOnlyFilesystem => failure.why("the file system is read-only"),
                    ErrorKind::PermissionDenied => failure.why("this user may not write there"),
                    ErrorKind::NotFound => failure.why("its folder is not there"),
                    _ => failure,
                };
                failure.next("choose another place with -o FILE")
            }
            _ => Failure::new(Code::Unexpected, what),
        }
    }
}

/// A session that did not come about.
fn session(error: &IpcError) -> Failure {
    let what = format!("the session could not be started: {error}");
    match error {
        IpcError::NoAnswer { .. } => Failure::new(Code::NoAnswer, what)
            .why("the process is stopped, hangs, or another tool holds its diagnostics socket")
            .next("drdotnet info -p PID   tells its state"),
        IpcError::Closed { .. } | IpcError::Connect { .. } | IpcError::Impostor { .. } => {
            Failure::new(Code::TargetEnded, what).next("drdotnet ps   lists the processes that are there now")
        }
        IpcError::Refused { .. } => Failure::new(Code::SessionRefused, what)
            .why("a runtime takes 64 sessions at most, and refuses requests that it does not understand")
            .next("end other tracing tools; try the default events first: drdotnet trace collect -p PID"),
        _ => Failure::new(Code::Unexpected, what),
    }
}

impl From<SyntaxError> for Failure {
    fn from(error: SyntaxError) -> Failure {
        let (line, marks) = pointer(&error);
        let failure = Failure::new(Code::BadTraceRequest, error.to_string()).pointing(line, marks);
        let wrong = error.text.get(error.at.clone()).unwrap_or_default();
        let names = CLR_EVENTS.iter().map(|(name, _)| *name);
        match (error.option, closest(wrong, names)) {
            ("--clrevents", Some(suggestion)) => failure.next(format!("did you mean '{suggestion}'?")),
            _ => failure.next(format!("expected: {}", error.expected)),
        }
    }
}

/// What was typed, or as much of it as fits around the mistake, and marks under the mistake.
fn pointer(error: &SyntaxError) -> (String, String) {
    let part = |range| printable(error.text.get(range).unwrap_or_default());
    let (before, wrong) = (part(0..error.at.start), part(error.at.clone()));
    let after = part(error.at.end..error.text.len());
    let (before, cut) = match before.chars().count() {
        long if long > BEFORE && long + wrong.width() + after.width() > WIDEST => {
            let tail: String = before.chars().skip(long - BEFORE).collect();
            (tail, "...")
        }
        _ => (before, ""),
    };
    let line = format!("{cut}{before}{wrong}{after}");
    let shown: String = line.chars().take(WIDEST).collect();
    let more = if shown.len() < line.len() { "..." } else { "" };
    let column = cut.len() + before.width();
    let marks = "^".repeat(wrong.width().clamp(1, WIDEST.saturating_sub(column).max(1)));
    (format!("{shown}{more}"), format!("{}{marks}", " ".repeat(column)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str, at: std::ops::Range<usize>) -> SyntaxError {
        SyntaxError {
            option: "--providers",
            text: text.into(),
            at,
            problem: "wrong".into(),
            expected: String::new(),
        }
    }

    #[test]
    fn the_marks_stand_under_the_mistake() {
        assert_eq!(pointer(&error("P:xyz:4", 2..5)), ("P:xyz:4".into(), "  ^^^".into()));
        assert_eq!(pointer(&error("P,", 2..2)), ("P,".into(), "  ^".into()));
        // Two columns wide.
        assert_eq!(pointer(&error("名:x", 4..5)), ("名:x".into(), "   ^".into()));
    }

    #[test]
    fn a_long_text_is_cut_around_the_mistake() {
        let text = format!("{}:wrong:{}", "a".repeat(100), "b".repeat(100));
        let (line, marks) = pointer(&error(&text, 101..106));
        assert!(line.starts_with("...a") && line.ends_with("b..."), "{line}");
        let column = marks.find('^').unwrap();
        assert_eq!(&line[column..column + 5], "wrong");
        assert!(line.len() <= WIDEST + 3, "{line}");
    }
}
