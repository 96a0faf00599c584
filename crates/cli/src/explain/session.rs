//! Sessions that cannot be written or read.

use std::io::ErrorKind;
use std::path::Path;

use sessions::{SessionError, Store};

use super::Failure;
use crate::exit_code::Code;

/// The name of the newest session.
const LAST: &str = "last";
/// What to do with a session that is running.
const END_IT: &str = "end it with Ctrl+C where it runs; that gives its report";
/// Most sessions named in a message.
const MOST_NAMED: usize = 8;

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Failure {
        let what = error.to_string();
        match error {
            SessionError::Write { source, .. } => {
                let failure = Failure::new(Code::Disk, what);
                let failure = match source.kind() {
                    ErrorKind::StorageFull | ErrorKind::QuotaExceeded => failure.why("the disk is full"),
                    ErrorKind::ReadOnlyFilesystem => failure.why("the file system is read-only"),
                    ErrorKind::PermissionDenied => failure.why("this user may not write there"),
                    _ => failure,
                };
                failure.next("keep the session elsewhere: -o DIR, or DRDOTNET_SESSIONS=DIR for good")
            }
            SessionError::Read { .. } => Failure::new(Code::Disk, what)
                .next("check that this user may read it, and that the disk is sound"),
            SessionError::NotFound { id, store } if id == LAST => {
                let what = format!("there is no last session: {} has none", store.display());
                Failure::new(Code::NoSuchSession, what).next("drdotnet run threads -p PID   makes one")
            }
            SessionError::NotFound { .. } => {
                Failure::new(Code::NoSuchSession, what).next("drdotnet sessions list   shows them all")
            }
            SessionError::Ambiguous { candidates, .. } => {
                let mut failure = Failure::new(Code::NoSuchSession, what).next("type more of its id:");
                for id in candidates.iter().take(MOST_NAMED) {
                    failure = failure.choice(id.clone());
                }
                failure
            }
            SessionError::NoReport { id, status } => {
                let failure = Failure::new(Code::NoSuchSession, what);
                match status {
                    "running" => failure.why("a report is written when the run ends").next(END_IT),
                    "abandoned" => failure
                        .why("drdotnet was killed in the middle, and half a report is none")
                        .next(format!("drdotnet sessions rm {id}   removes it")),
                    _ => failure
                        .why("the run ended with an error")
                        .next("drdotnet sessions list   shows the error"),
                }
            }
            SessionError::Corrupt { path, .. } => Failure::new(Code::CorruptSession, what)
                .why("a file in it was changed, cut or removed after it was written")
                .next(removal(&path)),
            SessionError::NotEmpty { .. } => Failure::new(Code::Disk, what)
                .why("a session needs a folder of its own")
                .next("choose a folder that is new or empty with -o DIR"),
            SessionError::Running { .. } => Failure::new(Code::NoSuchSession, what).next(END_IT),
            SessionError::Untrusted { .. } => Failure::new(Code::Disk, what)
                .why("the home folder cannot be written, and this one is open to somebody else")
                .next("keep the session elsewhere: -o DIR, or DRDOTNET_SESSIONS=DIR for good"),
            _ => Failure::new(Code::Unexpected, what),
        }
    }
}

/// How to be rid of a damaged session. Outside the store, this tool removes only what it recognises.
fn removal(path: &Path) -> String {
    match path.file_name() {
        Some(name) if path.parent() == Some(Store::of_user().root()) => {
            format!("drdotnet sessions rm {}   removes it", name.to_string_lossy())
        }
        _ => "if it is a session, remove the folder by hand".to_owned(),
    }
}
