//! The heap of a running process: taken once, kept for all later questions.

use std::collections::BTreeMap;

use discovery::DotnetProcess;
use heap_collector::{Collect, Taken, Wish};
use heap_reports::{Look, Origin};
use model::{Timestamp, parse_duration};
use reports::printable;
use sessions::{MANIFEST_SCHEMA, Manifest};

use super::source::Opened;
use crate::args::heap::Taking;
use crate::commands::gcdump::Progress;
use crate::commands::{keeping, kept_heap};
use crate::control::Interrupt;
use crate::explain::{Failure, no_heap};
use crate::output::to_stderr;
use crate::screen::Screen;

/// What is asked of a heap: what the session is called, and the parameters.
pub struct Question {
    pub id: &'static str,
    pub parameters: BTreeMap<String, String>,
}

/// What can be wrong with the arguments is found before a process is touched.
pub fn check(taking: &Taking) -> Result<(), Failure> {
    keeping::check_folder(taking.output.as_deref())?;
    parse_duration(&taking.timeout)?;
    Ok(())
}

/// Takes the heap of a process and keeps it.
pub fn take(
    process: DotnetProcess,
    taking: &Taking,
    question: &Question,
    interrupt: &Interrupt,
    screen: &Screen,
) -> Result<Opened, Failure> {
    let wish = Wish {
        allow_pause: taking.allow_pause,
        collect: if taking.collect { Collect::Always } else { Collect::WhenNeeded },
        patience: parse_duration(&taking.timeout)?,
    };
    let taken_at = Timestamp::now();
    // Before the process is stopped: a disk that cannot be written must not cost a pause.
    let session = keeping::begin(taking.output.as_deref(), &manifest(question, &process, taken_at))?;
    to_stderr(&format!("heap: reading {} (pid {})\n", printable(&process.name), process.pid));
    let mut progress = Progress::new(screen, interrupt);
    let outcome = heap_collector::take(&process, &wish, &mut progress);
    progress.end();
    let taken = match outcome {
        Ok(taken) => taken,
        Err(error) => {
            session.fail(&error.to_string())?;
            return Err(no_heap(error, &process, None));
        }
    };
    let origin = origin(&taken, &process, taken_at);
    let beside = profilers::memory_of(&process, &taken.graph).into_iter().collect();
    // Before anything is cut out of it.
    let not_kept = kept_heap::keep(&session, &process, "1", &taken.graph).err().map(Failure::from);
    let name = match &taking.output {
        Some(folder) => folder.display().to_string(),
        None => session.folder().file_name().unwrap_or_default().to_string_lossy().into_owned(),
    };
    Ok(Opened {
        look: Look::of(taken.graph),
        origin,
        name,
        pid: Some(process.pid),
        session: Some(session),
        beside,
        not_kept,
    })
}

fn manifest(question: &Question, process: &DotnetProcess, started_at: Timestamp) -> Manifest {
    Manifest {
        schema: MANIFEST_SCHEMA.to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        profiler: question.id.to_owned(),
        parameters: question.parameters.clone(),
        target: process.target(),
        started_at,
        requested_ns: 0,
    }
}

fn origin(taken: &Taken, process: &DotnetProcess, taken_at: Timestamp) -> Origin {
    Origin {
        target: process.target(),
        taken_at,
        cost: profilers::heap::cost(&[taken]),
        notes: profilers::heap::notes(taken),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}
