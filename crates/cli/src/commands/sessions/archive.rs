//! `drdotnet sessions export`: one archive of everything.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use model::Report;
use profile_formats::FormatError;
use reports::value::format_bytes;
use sessions::Session;
use stored_profiles::Recording;
use zip::ZipWriter;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;

use crate::commands::stored_profile;
use crate::control::{Interrupt, Second};
use crate::exit_code::Code;
use crate::explain::Failure;
use crate::output::{self, Draft, Stoppable};

/// What is made of the report by `sessions open`, what that is made of, and the page of the profile; the archive has them
/// new.
const MADE_ANEW: [&str; 3] = ["report.html", "report.json", "flamegraph.html"];

/// Formats that are not in the archive for each side: the page shows all sides at once, and a time line of every call is by
/// far larger than all else together.
const LEFT_OUT: [&str; 2] = ["html", "chromium"];

/// Writes a session with its report in every rendering, its profile in every format, and all its files.
pub fn export(session: &Session, path: Option<&Path>) -> Result<(), Failure> {
    let path = path.map_or_else(|| PathBuf::from(format!("{}.zip", name_of(session))), Path::to_owned);
    if path.symlink_metadata().is_ok() {
        return Err(output::is_there(&path));
    }
    let report = session.report()?;
    let interrupt = Interrupt::listen(Second::EndsAtOnce)
        .map_err(|error| Failure::new(Code::Unexpected, format!("listening for Ctrl+C: {error}")))?;
    let profile = session.profile().map(|file| stored_profile::read_stored(&file));
    let mut draft = Draft::beside(&path)?;
    let readable = profile.as_ref().and_then(|profile| profile.as_ref().ok());
    let written = write(draft.file(), session, &report, readable, &interrupt);
    let files = written.map_err(|error| output::not_written(&path, &error))?;
    let bytes = draft.keep_as_new(&path)?;
    if let Some(Err(failure)) = &profile {
        output::to_stderr(&format!("its profile is in no other format: {}\n", failure.what()));
    }
    output::to_stderr(&format!("wrote {} ({files} files, {})\n", path.display(), format_bytes(bytes)));
    Ok(())
}

/// Writes the archive; the number of files in it.
fn write(
    file: &mut File,
    session: &Session,
    report: &Report,
    profile: Option<&Recording>,
    interrupt: &Interrupt,
) -> io::Result<u64> {
    let zip = ZipWriter::new(BufWriter::new(file));
    let mut archive = Archive { zip, folder: name_of(session), interrupt, files: 0 };
    archive.fill(session, report, profile)?;
    archive.zip.finish().map_err(plain)?.flush()?;
    Ok(archive.files)
}

/// What the operating system said, where it said something.
fn plain(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(error) => error,
        error => io::Error::other(error.to_string()),
    }
}

/// The name of its folder, also if it was given as `.`.
fn name_of(session: &Session) -> String {
    let full = session.folder.canonicalize().unwrap_or_else(|_| session.folder.clone());
    full.file_name().map_or_else(|| "session".to_owned(), |name| name.to_string_lossy().into_owned())
}

struct Archive<'a, W: Write + io::Seek> {
    zip: ZipWriter<W>,
    folder: String,
    interrupt: &'a Interrupt,
    files: u64,
}

impl<W: Write + io::Seek> Archive<'_, W> {
    fn fill(&mut self, session: &Session, report: &Report, profile: Option<&Recording>) -> io::Result<()> {
        for format in reports::FORMATS {
            let text = format.render(report);
            self.file(&format!("report.{}", format.extension), |to| to.write_all(text.as_bytes()))?;
        }
        if let Some(recording) = profile {
            self.profile(recording)?;
        }
        let names = session.files().map_err(|error| io::Error::other(error.to_string()))?;
        for name in names.iter().filter(|name| !MADE_ANEW.contains(&name.as_str())) {
            let mut from = File::open(session.folder.join(name))?;
            self.file(name, |to| io::copy(&mut from, to).map(|_| ()))?;
        }
        Ok(())
    }

    /// The page with everything, and each side of each process in every other format.
    fn profile(&mut self, recording: &Recording) -> io::Result<()> {
        self.file("flame-graph.html", |to| profile_formats::html::write_recording(recording, to))?;
        for side in recording.sides() {
            let profiles: Vec<_> =
                recording.of_side(side).filter(|profile| !profile.samples.is_empty()).collect();
            for (place, profile) in profiles.iter().enumerate() {
                let process = profile.process.unwrap_or(place as u64);
                let name = if profiles.len() > 1 {
                    format!("{}-{process}", side.id())
                } else {
                    side.id().to_owned()
                };
                for format in profile_formats::FORMATS.iter().filter(|format| !LEFT_OUT.contains(&format.id))
                {
                    self.file(&format!("profiles/{name}.{}", format.extension), |to| {
                        format.write(profile, format.usual_grouping(), to).map_err(|error| match error {
                            FormatError::Write(error) => error,
                            error => io::Error::other(error.to_string()),
                        })
                    })?;
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, name: &str, make: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        // What is in a session is its user's alone, and may be larger than four gigabytes.
        let options = SimpleFileOptions::default().unix_permissions(0o600).large_file(true);
        self.zip.start_file(format!("{}/{name}", self.folder), options).map_err(plain)?;
        make(&mut Stoppable::new(&mut self.zip, self.interrupt))?;
        self.files += 1;
        Ok(())
    }
}
