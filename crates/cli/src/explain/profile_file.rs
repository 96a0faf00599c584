//! Profiles that cannot be read, or are not there.

use std::io::ErrorKind;
use std::path::Path;

use sessions::{Session, SessionError};
use stored_profiles::{ReadError, Side};

use super::Failure;
use crate::exit_code::Code;

const RECORD: &str = "drdotnet cpu -p PID   records one";

/// A file that could not be read.
pub fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let failure = Failure::new(Code::BadProfile, format!("reading {}: {error}", path.display()));
    match error.kind() {
        ErrorKind::PermissionDenied => failure.next("use the account that recorded it, or make it readable"),
        _ => failure.next("check the name, and the disk it is on"),
    }
}

/// A stored profile that is cut, damaged or of another version.
pub fn unusable(path: &Path, error: &ReadError) -> Failure {
    let failure = Failure::new(Code::BadProfile, format!("{} cannot be used", path.display()));
    let failure = failure.why(error.to_string());
    match error {
        ReadError::Cut { .. } => {
            failure.next("was it copied to its end, and is the disk full? Copy it again, or record again")
        }
        ReadError::Version { .. } => failure.next("use the drdotnet that wrote it, or a newer one"),
        _ => failure.next("copy it again from where it was written, or record again"),
    }
}

/// A file that is neither a stored profile nor folded stacks; `head` are its first bytes.
pub fn not_a_profile(path: &Path, head: &[u8], problem: &str) -> Failure {
    let what = format!("{} is neither a stored profile nor folded stacks", path.display());
    let failure = Failure::new(Code::BadProfile, what);
    if head.starts_with(b"Nettrace") {
        return failure
            .why("it is a .nettrace file")
            .next("drdotnet trace convert FILE --format folded   makes folded stacks of it");
    }
    failure.why(problem.to_owned()).next(RECORD)
}

/// A name that is no file and no session.
pub fn neither(wanted: &str, error: &SessionError) -> Failure {
    let failure = Failure::new(Code::NoSuchSession, format!("there is no file '{wanted}'"));
    failure.why(error.to_string()).next("drdotnet sessions list   shows the sessions")
}

/// A session without samples.
pub fn no_profile(session: &Session) -> Failure {
    let what = format!("session '{}' has no profile", session.id);
    Failure::new(Code::BadProfile, what)
        .why(format!("it was made by {}, or did not come to its end", session.manifest.profiler))
        .next(RECORD)
}

/// A recording without samples of a side.
pub fn no_samples(name: &str, wanted: Side, sides: &[Side]) -> Failure {
    let failure = Failure::new(Code::BadProfile, format!("{name} has no samples of {}", wanted.id()));
    if sides.is_empty() {
        return failure.why("it has no samples at all").next(RECORD);
    }
    let ids: Vec<&str> = sides.iter().map(|side| side.id()).collect();
    failure.next(format!("it has: {}", ids.join(", ")))
}
