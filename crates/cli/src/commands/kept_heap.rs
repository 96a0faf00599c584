//! Heaps that a session keeps, for later comparisons.

use std::path::{Path, PathBuf};

use discovery::DotnetProcess;
use heap_graph::HeapGraph;
use heap_graph::gcdump::{self, DumpInfo};
use profilers::{Archive, EarlierHeap, NotFound};
use sessions::{RunningSession, SessionError, Store};

use super::gcdump::read;
use crate::exit_code::Code;
use crate::explain::Failure;

/// What a `.gcdump` says of the process it is of.
pub fn info(process: &DotnetProcess) -> DumpInfo {
    DumpInfo {
        collected_ticks: crate::clock::dotnet_ticks(),
        machine: crate::clock::machine_name(),
        process_name: Some(process.name.clone()),
        process_id: i32::try_from(process.pid.0).unwrap_or(0),
        working_set: process.memory.and_then(|memory| i64::try_from(memory).ok()).unwrap_or(0),
        creation_tool: Some(format!("drdotnet {}", env!("CARGO_PKG_VERSION"))),
        ..DumpInfo::default()
    }
}

/// Keeps a heap with a session.
pub fn keep(
    session: &RunningSession,
    process: &DotnetProcess,
    number: &str,
    graph: &HeapGraph,
) -> Result<(), SessionError> {
    let about = info(process);
    session
        .keep_heap(number, |to| {
            gcdump::write(graph, &about, to).map_err(|error| match error {
                heap_graph::Error::Io(error) => error,
                other => std::io::Error::other(other.to_string()),
            })
        })
        .map(drop)
}

/// The file of the heap that a user means: a file, or the last heap of a session.
pub fn find(wanted: &str) -> Result<PathBuf, Failure> {
    let path = Path::new(wanted);
    if path.is_file() {
        return Ok(path.to_owned());
    }
    let session = Store::of_user().find(wanted).map_err(|error| match error {
        SessionError::NotFound { .. } if wanted != "last" => {
            Failure::new(Code::NoSuchSession, format!("{wanted} is neither a file nor a session"))
                .why(error.to_string())
                .next("drdotnet sessions list   shows the sessions")
                .next("drdotnet gcdump collect -p PID   writes a heap to a file")
        }
        error => error.into(),
    })?;
    session.heaps()?.pop().ok_or_else(|| {
        Failure::new(Code::NoSuchSession, format!("session {} keeps no heap", session.id))
            .why(format!("it is one of {}", session.manifest.profiler))
            .next("drdotnet run memory-leaks -p PID   keeps the heaps it looks at")
    })
}

/// What a session keeps, and what earlier ones have kept.
pub struct SessionArchive<'a> {
    pub session: &'a RunningSession,
    pub process: &'a DotnetProcess,
}

impl Archive for SessionArchive<'_> {
    fn keep_heap(&self, name: &str, graph: &HeapGraph) -> Result<(), String> {
        keep(self.session, self.process, name, graph).map_err(|error| error.to_string())
    }

    fn earlier_heap(&self, which: &str) -> Result<EarlierHeap, NotFound> {
        earlier(which).map_err(|failure| NotFound { what: failure.what(), next: failure.into_next() })
    }
}

/// The heap itself.
fn earlier(wanted: &str) -> Result<EarlierHeap, Failure> {
    let (graph, info) = find(wanted).and_then(|path| read(&path))?;
    Ok(EarlierHeap {
        graph,
        taken_at: crate::clock::from_dotnet_ticks(info.collected_ticks),
        process: info.process_name.filter(|name| !name.is_empty()),
    })
}
