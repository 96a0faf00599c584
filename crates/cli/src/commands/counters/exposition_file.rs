//! A file that always holds the newest values, as the text file collector of node_exporter reads it.

use std::fs::Permissions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use counters::Board;
use counters::export::exposition::{Exposed, Exposition, render};
use reports::printable;

use super::WriteError;
use crate::explain::Failure;

/// Readable for whoever the user's mask allows: the one who scrapes it is another user.
const MODE: u32 = 0o666;

/// One of the processes whose values are shown.
#[derive(Debug)]
pub struct Shown {
    /// Its id.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Its values.
    pub board: Board,
    /// Whether it is there.
    pub up: bool,
}

/// A file that always holds the newest values.
pub struct ExpositionFile {
    /// None is standard output.
    path: Option<PathBuf>,
    format: Exposition,
}

impl ExpositionFile {
    /// Begins one, and writes it for the first time: a disk that cannot be written is noticed now.
    pub fn begin(
        path: Option<PathBuf>,
        format: Exposition,
        processes: &[Shown],
    ) -> Result<ExpositionFile, WriteError> {
        let file = ExpositionFile { path, format };
        if file.path.is_some() {
            file.write(processes)?;
        }
        Ok(file)
    }

    /// Writes the newest values.
    pub fn write(&self, processes: &[Shown]) -> Result<(), WriteError> {
        // Values of a process that has ended would be taken for those of a living one. When all have ended, they
        // are all there is.
        let any_up = processes.iter().any(|process| process.up);
        let exposed: Vec<Exposed<'_>> = processes
            .iter()
            .map(|process| Exposed {
                pid: process.pid,
                process: &process.name,
                board: &process.board,
                up: process.up,
                shown: process.up || !any_up,
            })
            .collect();
        let text = render(self.format, &exposed);
        match &self.path {
            None => {
                let mut out = std::io::stdout().lock();
                let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
                written.map_err(|error| self.failure(Path::new("standard output"), &error))
            }
            Some(path) => replace(path, &text).map_err(|error| self.failure(path, &error)),
        }
    }

    fn failure(&self, path: &Path, error: &std::io::Error) -> WriteError {
        if error.kind() == ErrorKind::BrokenPipe {
            return WriteError::ReaderGone;
        }
        let kept = if path.is_file() { "it still holds the values of the interval before" } else { "" };
        WriteError::Failed(Failure::counters_disk(path, error, kept))
    }
}

/// Replaces a file in one step, so that whoever reads it sees a whole one.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    if path.metadata().is_ok_and(|file| !file.is_file()) {
        return std::fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes());
    }
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut draft = tempfile::Builder::new()
        .prefix(".drdotnet-")
        .permissions(Permissions::from_mode(MODE))
        .tempfile_in(folder)?;
    draft.write_all(text.as_bytes())?;
    draft.persist(path).map(|_| ()).map_err(|error| error.error)
}

/// A process for the labels.
pub fn shown(pid: u32, name: &str) -> Shown {
    Shown { pid, name: printable(name), board: Board::default(), up: true }
}
