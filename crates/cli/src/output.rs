//! Writing to the user. A reader that has gone away (`| head`) is no error.

use std::io::{ErrorKind, Write};
use std::path::Path;

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
    stream_to_file(path, |file| file.write_all(text.as_bytes()))
}

/// The same for what is made while it is written.
pub fn stream_to_file(
    path: &Path,
    make: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Failure> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A device, a pipe or a link is written to; replacing it would break it for everybody.
    let is_special = path.symlink_metadata().is_ok_and(|file| !file.is_file());
    let written = (|| {
        if is_special {
            return make(&mut std::fs::OpenOptions::new().write(true).truncate(true).open(path)?);
        }
        let mut draft = tempfile::NamedTempFile::new_in(folder)?;
        make(draft.as_file_mut())?;
        draft.as_file().sync_all()?;
        draft.persist(path).map_err(|error| error.error)?;
        Ok(())
    })();
    written.map_err(|error: std::io::Error| {
        let failure = Failure::new(Code::Disk, format!("writing {}: {error}", path.display()));
        let failure = match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                failure.why("the disk is full; nothing was kept")
            }
            _ => failure,
        };
        failure.next("choose another place with -o FILE")
    })
}
