//! Sessions that cannot be written or read.

use std::io::ErrorKind;

use sessions::SessionError;

use super::Failure;
use crate::exit_code::Code;

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
            SessionError::Read { .. } => Failure::new(Code::Disk, what),
            SessionError::NotFound { .. } => {
                Failure::new(Code::NoSuchSession, what).next("drdotnet sessions list   shows them all")
            }
            SessionError::Ambiguous { candidates, .. } => {
                let mut failure = Failure::new(Code::NoSuchSession, what);
                for id in candidates.iter().take(8) {
                    failure = failure.next(id.clone());
                }
                failure
            }
            SessionError::NoReport { .. } => Failure::new(Code::NoSuchSession, what)
                .why("a report is written when a run ends, complete or not at all")
                .next("drdotnet sessions list   shows where each one stands"),
            SessionError::Corrupt { path, .. } => Failure::new(Code::CorruptSession, what)
                .why("a file in it was changed, cut or removed after it was written")
                .next(format!("drdotnet sessions rm {}   removes it", session_name(&path))),
            SessionError::NotEmpty { .. } => {
                Failure::new(Code::Disk, what).next("choose a folder that is new or empty with -o DIR")
            }
            SessionError::Running { .. } => {
                Failure::new(Code::NoSuchSession, what).next("end it first with Ctrl+C where it runs")
            }
            SessionError::NoHome => {
                Failure::new(Code::Disk, what).next("-o DIR, or set DRDOTNET_SESSIONS=DIR")
            }
            _ => Failure::new(Code::Unexpected, what),
        }
    }
}

fn session_name(path: &std::path::Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}
