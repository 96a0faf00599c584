//! Heaps that a session keeps, for later comparisons.

use discovery::DotnetProcess;
use heap_graph::HeapGraph;
use heap_graph::gcdump::{self, DumpInfo};
use sessions::{RunningSession, SessionError};

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
