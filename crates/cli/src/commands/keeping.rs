//! Sessions of runs: begun before anything is measured, and what is said of them at the end.

use std::path::Path;
use std::time::Duration;

use discovery::DotnetProcess;
use model::{Report, Timestamp, format_duration};
use profilers::{Settings, Spec};
use sessions::{MANIFEST_SCHEMA, Manifest, RunningSession, Store};

use crate::exit_code::Code;
use crate::explain::Failure;
use crate::output;

/// Refuses a folder for a session that looks like a file.
pub fn check_folder(output: Option<&Path>) -> Result<(), Failure> {
    let Some(folder) = output.filter(|path| looks_like_a_file(path)) else { return Ok(()) };
    Err(Failure::new(Code::BadParameter, format!("-o {} is no folder's name", folder.display()))
        .why("a session is a folder")
        .next("--json > FILE   writes the report to a file; or later: drdotnet sessions export last -o FILE"))
}

/// Other tools take a file for `-o`; a folder called `report.json` would surprise everybody.
fn looks_like_a_file(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let of_files = ["json", "html", "md", "txt", "svg", "drprof"];
    !path.is_dir() && extension.is_some_and(|extension| of_files.contains(&extension))
}

/// What a session says of its start.
pub fn manifest(spec: &Spec, settings: &Settings, process: &DotnetProcess, duration: Duration) -> Manifest {
    Manifest {
        schema: MANIFEST_SCHEMA.to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        profiler: spec.id.to_owned(),
        parameters: settings.all(),
        target: process.target(),
        started_at: Timestamp::now(),
        requested_ns: u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX),
    }
}

/// Begins a session, in this folder or in the user's own.
pub fn begin(output: Option<&Path>, manifest: &Manifest) -> Result<RunningSession, Failure> {
    if let Some(folder) = output {
        return Ok(RunningSession::begin_in(folder, manifest)?);
    }
    let store = Store::of_user();
    let session = store.begin(manifest)?;
    if store.is_makeshift() {
        let folder = store.root().display();
        output::to_stderr(&format!("no home folder can be written; the session goes to {folder}\n"));
    }
    Ok(session)
}

/// Where a session is, for its user.
pub fn kept_words(folder: &Path, is_chosen: bool) -> String {
    if is_chosen {
        let folder = folder.display();
        return format!("kept in {folder} (drdotnet sessions open {folder}   shows it in a browser)");
    }
    let id = folder.file_name().unwrap_or_default().to_string_lossy();
    format!("kept as session {id} (drdotnet sessions open last)")
}

/// A target that was not to end ended.
pub fn ended_in_the_middle(report: &Report) -> Failure {
    let measured = format_duration(Duration::from_nanos(report.window.measured_ns));
    let what = format!("process {} ended in the middle, after {measured}", report.target.pid);
    Failure::new(Code::TargetEnded, what)
        .why("the report above covers the time until then")
        .next("drdotnet ps   lists the processes that are there now")
}
