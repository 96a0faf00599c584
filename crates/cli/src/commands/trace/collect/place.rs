//! Where a recording goes.

use std::path::{Path, PathBuf};

use discovery::DotnetProcess;
use jiff::Zoned;
use trace_recording::{RecordingError, TraceFile};

/// So many recordings of one second get a name each.
const MOST_OF_A_SECOND: u32 = 1000;

/// Where the recordings of one process go.
pub struct Place {
    given: Option<PathBuf>,
    folder: PathBuf,
    program: String,
    /// How many were made.
    made: u32,
}

impl Place {
    /// `given` may be a file or a folder that is there.
    pub fn new(given: Option<&Path>, process: &DotnetProcess) -> Place {
        let folder = given.filter(|path| path.is_dir()).map(Path::to_owned);
        let given = given.filter(|path| !path.is_dir()).map(Path::to_owned);
        let beside = given.as_deref().and_then(Path::parent).filter(|parent| !parent.as_os_str().is_empty());
        let folder = folder.or_else(|| beside.map(Path::to_owned)).unwrap_or_default();
        Place { given, folder, program: program_name(process), made: 0 }
    }

    /// The folder that recordings go to.
    pub fn folder(&self) -> &Path {
        if self.folder.as_os_str().is_empty() { Path::new(".") } else { &self.folder }
    }

    /// Where the recordings will go, for people.
    pub fn shown(&self) -> String {
        match &self.given {
            Some(path) => path.display().to_string(),
            None => format!(
                "{}",
                self.folder.join(format!("{}_yyyyMMdd_HHmmss.nettrace", self.program)).display()
            ),
        }
    }

    /// Makes the next file. Names that we make up never replace anything.
    pub fn next(&mut self) -> Result<TraceFile, RecordingError> {
        self.made += 1;
        match (&self.given, self.made) {
            (Some(path), 1) => TraceFile::create(path),
            (Some(path), count) => {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                let extension = path.extension().unwrap_or_default().to_string_lossy();
                let dot = if extension.is_empty() { "" } else { "." };
                TraceFile::create(&self.folder.join(format!("{stem}_{count}{dot}{extension}")))
            }
            (None, _) => self.next_made_up(),
        }
    }

    fn next_made_up(&self) -> Result<TraceFile, RecordingError> {
        // In local time, as people look for it.
        let moment = Zoned::now().strftime("%Y%m%d_%H%M%S").to_string();
        let mut last = None;
        for count in 1..=MOST_OF_A_SECOND {
            let more = if count == 1 { String::new() } else { format!("_{count}") };
            let name = format!("{}_{moment}{more}.nettrace", self.program);
            match TraceFile::create_new(&self.folder.join(name)) {
                Err(RecordingError::Write { path, source })
                    if source.kind() == std::io::ErrorKind::AlreadyExists =>
                {
                    last = Some(RecordingError::Write { path, source });
                }
                outcome => return outcome,
            }
        }
        Err(last.unwrap_or(RecordingError::NoProviders))
    }
}

/// The name of its executable, as dotnet-trace takes it; the best name known if that cannot be read.
fn program_name(process: &DotnetProcess) -> String {
    let executable = std::fs::read_link(format!("/proc/{}/exe", process.pid)).ok();
    let name =
        executable.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_else(|| process.name.clone());
    // A name from the target must not lead to another folder, nor look like an option or a hidden file.
    let name: String = name
        .trim_end_matches(" (deleted)")
        .chars()
        .map(|c| if c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '+') { c } else { '_' })
        .take(100)
        .collect();
    let name = name.trim_start_matches(['.', '-']);
    if name.is_empty() { format!("Process{}", process.pid) } else { name.to_owned() }
}
