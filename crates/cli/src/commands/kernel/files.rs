//! What a session keeps beside its report: the flame graph, the samples, other formats.

use std::path::{Path, PathBuf};

use profile_formats::{FORMATS, Format, FormatError};
use sessions::RunningSession;
use stored_profiles::Recording;

use crate::exit_code::Code;
use crate::explain::Failure;
use crate::output::{self, Keeping};

/// A kind of file.
#[derive(Clone, Copy, Debug)]
pub enum FileKind {
    /// All samples, in a form of our own.
    Stored,
    /// A page with all sides of the time.
    Page,
    /// One of the formats that viewers read.
    Format(&'static Format),
}

/// What the file of all samples is called on the command line.
const STORED: &str = "drprof";
/// The usual: a picture, and what everything else can be made of later.
const USUAL: &str = "html,drprof";
/// The page's name on the command line, and in a session.
const PAGE: &str = "html";
const PAGE_FILE: &str = "flamegraph.html";

impl FileKind {
    /// The kinds that a list names.
    pub fn list(typed: Option<&str>) -> Result<Vec<FileKind>, Failure> {
        let words = typed.unwrap_or(USUAL).split(',').map(str::trim).filter(|word| !word.is_empty());
        let mut kinds: Vec<FileKind> = Vec::new();
        for word in words {
            let kind = FileKind::called(word)?;
            if !kinds.iter().any(|known| known.id() == kind.id()) {
                kinds.push(kind);
            }
        }
        Ok(kinds)
    }

    fn called(word: &str) -> Result<FileKind, Failure> {
        if word.eq_ignore_ascii_case(STORED) {
            return Ok(FileKind::Stored);
        }
        if word.eq_ignore_ascii_case(PAGE) {
            return Ok(FileKind::Page);
        }
        profile_formats::by_id(word).map(FileKind::Format).ok_or_else(|| {
            let ids: Vec<&str> = FORMATS.iter().map(|format| format.id).chain([STORED]).collect();
            let failure = Failure::new(Code::UnknownProfiler, format!("there is no format '{word}'"));
            match profilers::closest(word, ids.iter().copied()) {
                Some(near) => failure.next(format!("did you mean '{near}'?")),
                None => failure.next(format!("the formats are: {}", ids.join(", "))),
            }
        })
    }

    fn id(self) -> &'static str {
        match self {
            FileKind::Stored => STORED,
            FileKind::Page => PAGE,
            FileKind::Format(format) => format.id,
        }
    }
}

/// A file that was written.
pub struct Written {
    pub path: PathBuf,
    pub kind: FileKind,
}

impl Written {
    /// A line on what to do with it; none for what other commands read.
    pub fn words(&self) -> Option<String> {
        let path = self.path.display();
        match self.kind {
            FileKind::Stored => None,
            FileKind::Page => Some(format!("flame graph: {path}   (open it in a browser)\n")),
            FileKind::Format(format) => {
                Some(format!("{}: {}\n", format.title, format.opens.replace("FILE", &path.to_string())))
            }
        }
    }
}

/// Writes what was recorded of a process into its session.
pub fn write(
    kinds: &[FileKind],
    recording: &Recording,
    session: &RunningSession,
) -> Result<Vec<Written>, Failure> {
    let folder = session.folder();
    let mut written = Vec::new();
    for kind in kinds {
        match kind {
            FileKind::Stored => {
                let path = session.keep_profile(|mut to| stored_profiles::write(&mut to, recording))?;
                written.push(Written { path, kind: *kind });
            }
            FileKind::Page => {
                let path = folder.join(PAGE_FILE);
                output::stream_to_file(&path, Keeping::Repeatable, |to| {
                    profile_formats::html::write_recording(recording, to)
                })?;
                written.push(Written { path, kind: *kind });
            }
            FileKind::Format(format) => write_sides(format, recording, folder, &mut written)?,
        }
    }
    Ok(written)
}

/// A file for each side of the time that has samples.
fn write_sides(
    format: &'static Format,
    recording: &Recording,
    folder: &Path,
    written: &mut Vec<Written>,
) -> Result<(), Failure> {
    for (side, profile) in recording.profiles.iter().filter(|(_, profile)| !profile.samples.is_empty()) {
        let path = folder.join(format!("{}.{}", side.id(), format.extension));
        output::stream_to_file(&path, Keeping::Repeatable, |to| {
            format.write(profile, format.usual_grouping(), to).map_err(|error| match error {
                FormatError::Write(error) => error,
                other => std::io::Error::other(other.to_string()),
            })
        })?;
        written.push(Written { path, kind: FileKind::Format(format) });
    }
    Ok(())
}
