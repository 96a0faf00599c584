//! A session that this process is writing.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use model::{Report, Timestamp, WindowEnd};

use crate::files::{self, HEAP, HEAP_END, LOCK, MANIFEST, OUTCOME, PROFILE, REPORT, write_error};
use crate::{Manifest, Outcome, OutcomeStatus, SessionError};

/// A session that this process is writing. Dropped without a word, it is abandoned.
#[derive(Debug)]
pub struct RunningSession {
    folder: PathBuf,
    // Held until the end; the kernel frees it when the process ends, however that happens.
    _lock: File,
}

impl RunningSession {
    /// Begins a session in `folder`, which must be new or empty.
    pub fn begin_in(folder: &Path, manifest: &Manifest) -> Result<Self, SessionError> {
        files::private_store(folder).map_err(write_error(folder))?;
        let mut entries = fs::read_dir(folder).map_err(files::read_error(folder))?;
        if entries.next().is_some() {
            return Err(SessionError::NotEmpty { path: folder.to_owned() });
        }
        files::private_folder(folder).map_err(write_error(folder))?;
        Self::begin_in_empty(folder, manifest).inspect_err(|_| {
            // Nothing has begun, so nothing stays: the user may try again in the same folder.
            let _ = fs::remove_file(folder.join(LOCK));
        })
    }

    fn begin_in_empty(folder: &Path, manifest: &Manifest) -> Result<Self, SessionError> {
        let lock_path = folder.join(LOCK);
        let lock = files::private_file(&lock_path).map_err(write_error(&lock_path))?;
        lock.try_lock().map_err(|error| SessionError::Write { path: lock_path, source: error.into() })?;
        let text = serde_json::to_vec_pretty(manifest)
            .map_err(|error| SessionError::Corrupt { path: folder.to_owned(), problem: error.to_string() })?;
        files::write_whole(folder, MANIFEST, &text)?;
        files::keep_names(folder)?;
        Ok(RunningSession { folder: folder.to_owned(), _lock: lock })
    }

    pub(crate) fn moved_to(mut self, folder: PathBuf) -> Self {
        self.folder = folder;
        self
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Keeps the samples of the run beside the report to come: `profile.drprof`, in place of an earlier one.
    pub fn keep_profile(
        &self,
        make: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<PathBuf, SessionError> {
        files::stream_whole(&self.folder, PROFILE, make)?;
        Ok(self.folder.join(PROFILE))
    }

    /// Keeps a heap beside the report to come: `heap-1.gcdump`, `heap-2.gcdump`...
    pub fn keep_heap(
        &self,
        number: &str,
        make: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<PathBuf, SessionError> {
        let name = format!("{HEAP}{number}{HEAP_END}");
        files::stream_whole(&self.folder, &name, make)?;
        Ok(self.folder.join(name))
    }

    /// Ends it with a report: done, or cancelled when the user ended it early.
    pub fn finish(self, report: &Report) -> Result<(), SessionError> {
        let corrupt = |problem: String| SessionError::Corrupt { path: self.folder.clone(), problem };
        let text = report.to_json().map_err(|error| corrupt(error.to_string()))?;
        // What cannot be read back is no report; better to know it now than in the session's last hour of need.
        Report::from_json(&text).map_err(|error| corrupt(error.to_string()))?;
        files::write_whole(&self.folder, REPORT, text.as_bytes())?;
        let status = match report.window.end {
            WindowEnd::Cancelled => OutcomeStatus::Cancelled,
            WindowEnd::Completed | WindowEnd::TargetExited => OutcomeStatus::Done,
        };
        self.write_outcome(status, None)
    }

    /// Ends it without a report.
    pub fn fail(self, error: &str) -> Result<(), SessionError> {
        self.write_outcome(OutcomeStatus::Failed, Some(error.to_owned()))
    }

    fn write_outcome(&self, status: OutcomeStatus, error: Option<String>) -> Result<(), SessionError> {
        let outcome = Outcome { status, ended_at: Timestamp::now(), error };
        let text = serde_json::to_vec_pretty(&outcome).map_err(|error| SessionError::Corrupt {
            path: self.folder.clone(),
            problem: error.to_string(),
        })?;
        files::write_whole(&self.folder, OUTCOME, &text)?;
        files::keep_names(&self.folder)
    }
}
