//! Counters that cannot be asked for, or do not come.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use counters::{GrammarError, GrammarProblem, Note};
use diagnostics_ipc::IpcError;
use model::format_duration;

use super::Failure;
use crate::exit_code::Code;

/// Most characters of a list that are shown on either side of a mistake.
const AROUND: usize = 30;

impl From<GrammarError> for Failure {
    fn from(error: GrammarError) -> Failure {
        let failure = Failure::new(Code::BadCounters, format!("--counters: {error}"));
        let (part, column) = around(&error.text, error.at);
        let failure = failure.next(match error.problem {
            GrammarProblem::BothSources => "name it once: with EventCounters\\ for its EventCounters alone",
            _ => "write it as PROVIDER or PROVIDER[NAME,NAME], with commas between providers:",
        });
        // Dashes, because leading spaces would not survive.
        failure.choice(part).choice(format!("{}^", "-".repeat(column)))
    }
}

/// The part of a text around a character, and where it is in there.
fn around(text: &str, at: usize) -> (String, usize) {
    let from = at.saturating_sub(AROUND);
    let part: String =
        text.chars().skip(from).take(2 * AROUND).map(|c| if c.is_control() { '?' } else { c }).collect();
    let before = if from > 0 { "…" } else { "" };
    (format!("{before}{part}"), at - from + before.chars().count())
}

impl Failure {
    /// A session for counters could not be had.
    pub fn no_counter_session(who: &str, error: &IpcError) -> Failure {
        let what = format!("counters of {who}: {error}");
        match error {
            IpcError::NoAnswer { .. } => {
                Failure::new(Code::NoAnswer, what).next("drdotnet ps   shows its state")
            }
            _ => Failure::new(Code::Unexpected, what).next("drdotnet info -p PID   says what it is"),
        }
    }

    /// A target that did not answer when the session was to end.
    pub fn counters_unanswered(who: &str, kept: &str) -> Failure {
        Failure::new(Code::NoAnswer, format!("{who} stopped answering in the middle"))
            .why(kept)
            .next("drdotnet ps   shows whether it is stopped (SIGSTOP, a debugger) or hangs")
    }

    /// A target that ended before its time.
    pub fn counters_ended(who: &str, kept: &str) -> Failure {
        Failure::new(Code::TargetEnded, format!("{who} ended in the middle"))
            .why(kept)
            .next("drdotnet ps   lists the processes that are there now")
    }

    /// Nothing came, and perhaps it is known why. `brief` is the time it was looked at, if that was too short.
    pub fn no_counters(who: &str, providers: &str, notes: &[Note], brief: Option<Duration>) -> Failure {
        match notes.iter().find(|note| note.ends_meters()) {

            Some(note) => Failure::new(Code::MetersRefused, format!("no counter of {who} came"))
                .why(note.to_string())
                .next("end the other tool, or give the same --refresh-interval, --maxTimeSeries and --maxHistograms"),
            None if brief.is_some() => Failure::new(Code::NoCounters, format!("no counter of {who} came"))
                .why(format!(
                    "it was looked at for {}, and the first values come after an interval, on a busy machine later",
                    format_duration(brief.unwrap_or_default())
                ))
                .next("look longer: a --duration of some intervals"),
            None => Failure::new(Code::NoCounters, format!("no counter of {who} came"))
                .why(format!("it has no provider, or no counter, of that name in use: {providers}"))
                .next("drdotnet counters list   shows what .NET itself has; names are those of event sources and meters"),
        }
    }

    /// A file of counters that cannot be written any further.
    pub fn counters_disk(path: &Path, error: &std::io::Error, kept: &str) -> Failure {
        let failure = Failure::new(Code::Disk, format!("writing {}: {error}", path.display()));
        let failure = match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => failure.why("the disk is full"),
            ErrorKind::ReadOnlyFilesystem => failure.why("the file system is read-only"),
            ErrorKind::PermissionDenied => failure.why("this user may not write there"),
            ErrorKind::NotFound => failure.why("its folder is not there"),
            _ => failure,
        };
        let failure = if kept.is_empty() { failure } else { failure.also(kept) };
        failure.next("choose another place with -o FILE")
    }
}

#[cfg(test)]
mod tests {
    use super::around;

    #[test]
    fn a_mistake_in_a_long_list_is_still_pointed_at() {
        assert_eq!(around("A[x", 1), ("A[x".to_owned(), 1));
        let (part, column) = around(&"x".repeat(200), 150);
        assert_eq!((part.chars().count(), column), (61, 31));
        assert_eq!(around("", 0), (String::new(), 0));
    }
}
