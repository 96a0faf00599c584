//! Writing to the user. A reader that has gone away (`| head`) is no error.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::control::Interrupt;
use crate::exit_code::Code;
use crate::explain::Failure;

/// Writes an answer.
pub fn to_stdout(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(Code::Disk, format!("writing to standard output: {error}"))
                .next("check the disk that standard output goes to"))
        }
        _ => Ok(()),
    }
}

/// Writes anything else. There is nobody to tell if that fails.
pub fn to_stderr(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Writes a file so that it is there whole or not at all, readable by its user only: reports hold strings out
/// of the target's memory.
pub fn to_file(path: &Path, text: &str) -> Result<(), Failure> {
    stream_to_file(path, Keeping::Safe, |file| file.write_all(text.as_bytes()))
}

/// What a power cut may take.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// Nothing: the disk has it before the tool goes on.
    Safe,
    /// The file: it can be made again, and is too large to wait for the disk.
    Repeatable,
}

/// The same for what is made while it is written.
pub fn stream_to_file(
    path: &Path,
    keeping: Keeping,
    make: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Failure> {
    // A device, a pipe or a link is written to; replacing it would break it for everybody.
    let is_special = path.symlink_metadata().is_ok_and(|file| !file.is_file());
    if is_special {
        return std::fs::OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(path)
            .and_then(|mut file| make(&mut file))
            .map_err(|error| not_written(path, &error));
    }
    let mut draft = Draft::beside(path)?;
    make(draft.file()).map_err(|error| not_written(path, &error))?;
    draft.keep(path, keeping).map(|_| ())
}

/// A file on its way: nothing is left of it unless it is kept.
pub struct Draft(tempfile::NamedTempFile);

impl Draft {
    /// A draft in the folder where a file will be.
    pub fn beside(path: &Path) -> Result<Draft, Failure> {
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            return Err(Failure::new(Code::Disk, format!("{} is there and is no file", path.display()))
                .next("choose another place with -o FILE"));
        }
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        tempfile::NamedTempFile::new_in(folder).map(Draft).map_err(|error| not_written(path, &error))
    }

    /// Where to write to.
    pub fn file(&mut self) -> &mut File {
        self.0.as_file_mut()
    }

    /// Makes it the file, unless there is one; returns its length.
    pub fn keep_as_new(self, path: &Path) -> Result<u64, Failure> {
        let length = self.0.as_file().metadata().map_err(|error| not_written(path, &error))?.len();
        match self.0.persist_noclobber(path) {
            Ok(_) => Ok(length),
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Err(is_there(path)),
            Err(error) => Err(not_written(path, &error.error)),
        }
    }

    /// Makes it the file, in place of any that is there; returns its length.
    pub fn keep(self, path: &Path, keeping: Keeping) -> Result<u64, Failure> {
        let kept = (|| {
            if keeping == Keeping::Safe {
                self.0.as_file().sync_all()?;
            }
            let length = self.0.as_file().metadata()?.len();
            self.0.persist(path).map_err(|error| error.error)?;
            Ok(length)
        })();
        kept.map_err(|error: std::io::Error| not_written(path, &error))
    }
}

/// The failure of a file that would replace another.
pub fn is_there(path: &Path) -> Failure {
    Failure::new(Code::FileExists, format!("{} is there already", path.display()))
        .next("choose another name with -o FILE, or remove it first")
}

/// Writes until the user has had enough.
pub struct Stoppable<'a> {
    to: &'a mut dyn Write,
    interrupt: &'a Interrupt,
    /// How much was written.
    pub bytes: u64,
}

impl<'a> Stoppable<'a> {
    /// Writes to something, as long as the user does not ask for the end.
    pub fn new(to: &'a mut dyn Write, interrupt: &'a Interrupt) -> Stoppable<'a> {
        Stoppable { to, interrupt, bytes: 0 }
    }
}

impl Write for Stoppable<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.interrupt.is_asked() {
            return Err(std::io::Error::other("stopped by the user; nothing was kept"));
        }
        let count = self.to.write(bytes)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.to.flush()
    }
}

/// The failure of a file that could not be written.
pub fn not_written(path: &Path, error: &std::io::Error) -> Failure {
    // A draft's own name, which an error may end with, says nothing to anybody.
    let text = error.to_string();
    let text = text.split(" at path ").next().unwrap_or(&text);
    let failure = Failure::new(Code::Disk, format!("writing {}: {text}", path.display()));
    let failure = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            failure.why("the disk is full; nothing was kept")
        }
        _ => failure,
    };
    failure.next("choose another place with -o FILE")
}
