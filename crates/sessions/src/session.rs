//! A session as it is found on disk.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use model::Report;
use serde::de::DeserializeOwned;

use crate::files::{self, HEAP, HEAP_END, LOCK, MANIFEST, OUTCOME, PROFILE, REPORT};
use crate::{MANIFEST_SCHEMA, Manifest, Outcome, OutcomeStatus, SessionError};

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Its tool is at work.
    Running,
    /// It has a report.
    Done,
    /// It ended without a report.
    Failed,
    /// The user ended it early; it has a report.
    Cancelled,
    /// Its tool was killed; it has no report.
    Abandoned,
}

impl Status {
    /// In a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Done => "done",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
            Status::Abandoned => "abandoned",
        }
    }
}

/// A session as it is found on disk.
#[derive(Clone, Debug)]
pub struct Session {
    /// Its id: the name of its folder.
    pub id: String,
    /// Its folder.
    pub folder: PathBuf,
    /// What was started.
    pub manifest: Manifest,
    /// Where it stands.
    pub status: Status,
    /// How it ended, if it did.
    pub outcome: Option<Outcome>,
}

impl Session {
    /// Reads the session in `folder`.
    pub fn read(folder: &Path) -> Result<Session, SessionError> {
        let corrupt = |problem: String| SessionError::Corrupt { path: folder.to_owned(), problem };
        let manifest: Manifest = read_json(folder, MANIFEST)?
            .ok_or_else(|| corrupt(format!("it has no {MANIFEST}; nothing was started in it")))?;
        if manifest.schema != MANIFEST_SCHEMA {
            return Err(corrupt(format!(
                "{MANIFEST} has schema '{}', this version reads '{MANIFEST_SCHEMA}'",
                manifest.schema
            )));
        }
        // The lock is looked at first: a session that ends between the two looks has its outcome by then.
        let held = is_locked(&folder.join(LOCK));
        let outcome: Option<Outcome> = read_json(folder, OUTCOME)?;
        let status = match &outcome {
            Some(outcome) => match outcome.status {
                OutcomeStatus::Done => Status::Done,
                OutcomeStatus::Failed => Status::Failed,
                OutcomeStatus::Cancelled => Status::Cancelled,
            },
            None if held => Status::Running,
            None => Status::Abandoned,
        };
        let id = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Ok(Session { id, folder: folder.to_owned(), manifest, status, outcome })
    }

    /// Where its samples are, if it has any.
    #[must_use]
    pub fn profile(&self) -> Option<PathBuf> {
        Some(self.folder.join(PROFILE)).filter(|path| path.is_file())
    }

    /// Where its heaps are, the earliest first.
    pub fn heaps(&self) -> Result<Vec<PathBuf>, SessionError> {
        let mut names = self.files()?;
        names.retain(|name| name.starts_with(HEAP) && name.ends_with(HEAP_END));
        // The tenth comes after the ninth.
        names.sort_by_key(|name| (name.len(), name.clone()));
        Ok(names.into_iter().map(|name| self.folder.join(name)).collect())
    }

    /// The names of its files, sorted, without those that mean something only while it runs. Links and folders are
    /// somebody's own.
    pub fn files(&self) -> Result<Vec<String>, SessionError> {
        let read_error = |error| files::read_error(&self.folder)(error);
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(read_error)? {
            let entry = entry.map_err(read_error)?;
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if let Some(name) = entry.file_name().into_string().ok().filter(|_| is_file)
                && name != LOCK
                && !name.starts_with('.')
            {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Its report.
    pub fn report(&self) -> Result<Report, SessionError> {
        let path = self.folder.join(REPORT);
        match fs::read_to_string(&path) {
            Ok(text) => Report::from_json(&text).map_err(|error| SessionError::Corrupt {
                path: self.folder.clone(),
                problem: format!("{REPORT}: {error}"),
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => match self.status {
                Status::Done | Status::Cancelled => Err(SessionError::Corrupt {
                    path: self.folder.clone(),
                    problem: format!("it is {} but has no {REPORT}", self.status.word()),
                }),
                _ => Err(SessionError::NoReport { id: self.id.clone(), status: self.status.word() }),
            },
            Err(error) => Err(files::read_error(&path)(error)),
        }
    }
}

fn read_json<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<Option<T>, SessionError> {
    let path = folder.join(name);
    match fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| SessionError::Corrupt {
            path: folder.to_owned(),
            problem: format!("{name}: {error}"),
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(files::read_error(&path)(error)),
    }
}

/// Whether somebody holds the lock for writing. Readers only share it, so they do not mistake each other for a
/// running tool.
fn is_locked(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}
