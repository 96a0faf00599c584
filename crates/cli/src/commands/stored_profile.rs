//! Profiles that were kept: in a session, in a file of their own, or as folded stacks.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use sessions::Store;
use stored_profiles::{Recording, Side};

use crate::exit_code::Code;
use crate::explain::{Failure, profile_file as explain};

/// Enough of a file to tell what it is.
const HEAD: u64 = 512;

/// The recording that a user means: a file, or a session by its id, the beginning of it, `last` or its folder.
pub fn find(wanted: &str) -> Result<Recording, Failure> {
    let path = Path::new(wanted);
    if path.is_file() {
        return read(path);
    }
    let session = Store::of_user().find(wanted).map_err(|error| match error {
        sessions::SessionError::NotFound { .. } if wanted != "last" => explain::neither(wanted, &error),
        error => error.into(),
    })?;
    match session.profile() {
        Some(path) => read(&path),
        None => Err(explain::no_profile(&session)),
    }
}

/// Reads a file, whatever of the two it is.
fn read(path: &Path) -> Result<Recording, Failure> {
    if is_stored(path) {
        return read_stored(path);
    }
    let mut file = File::open(path).map_err(|error| explain::unreadable(path, &error))?;
    let mut head = Vec::new();
    let looked = file.by_ref().take(HEAD).read_to_end(&mut head).and_then(|_| file.rewind());
    looked.map_err(|error| explain::unreadable(path, &error))?;
    let written_at = file.metadata().and_then(|file| file.modified()).ok();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match profile_formats::read_folded(BufReader::new(file)) {
        Ok(profile) if !profile.samples.is_empty() => {
            // Nothing in it says when it was recorded; it was written soon after.
            Ok(Recording { name, started: written_at, ..Recording::of(Side::OnCpu, profile) })
        }
        Ok(_) => Err(explain::not_a_profile(path, &head, "it is empty")),
        Err(profile_formats::FoldedError::Io(error)) => Err(explain::unreadable(path, &error)),
        Err(error) => Err(explain::not_a_profile(path, &head, &error.to_string())),
    }
}

/// Whether a file begins as a stored profile does.
pub fn is_stored(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.is_ok() && stored_profiles::is_stored_profile(&head)
}

/// Reads a stored profile.
pub fn read_stored(path: &Path) -> Result<Recording, Failure> {
    let file = File::open(path).map_err(|error| explain::unreadable(path, &error))?;
    stored_profiles::read(file).map_err(|error| explain::unusable(path, &error))
}

/// A side by the name a user gives it.
pub fn side(id: &str) -> Result<Side, Failure> {
    Side::ALL.into_iter().find(|side| side.id().eq_ignore_ascii_case(id)).ok_or_else(|| {
        let ids: Vec<&str> = Side::ALL.iter().map(|side| side.id()).collect();
        Failure::new(Code::UnknownProfiler, format!("a profile has no side '{id}'"))
            .next(format!("the sides are: {}", ids.join(", ")))
    })
}
