//! The heap of a core dump.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use gc_memory::graph_of_core;
use heap_reports::{Look, Origin};
use model::{Cost, ProcessId, Target, Timestamp};

use crate::exit_code::Code;
use crate::explain::Failure;
use crate::output::to_stderr;

/// What a core dump begins with.
const MAGIC: &[u8] = b"\x7fELF";

/// Whether a file begins as a core dump does.
pub fn is_core(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut head));
    read.is_ok() && head == MAGIC
}

/// The heap of a core dump, and where it came from.
pub fn open(path: &Path) -> Result<(Look, Origin), Failure> {
    to_stderr("heap: reading a core dump; that may take a second for every million objects\n");
    let heap = graph_of_core(path).map_err(|error| unreadable(path, &error))?;
    let mut notes =
        vec!["objects that nothing refers to any more are in it; they are counted apart".to_owned()];
    notes.extend(heap.told.missing);
    if heap.unnamed_types > 0 {
        notes.push(format!("{} types have no name: it is not in the dump", heap.unnamed_types));
    }
    let written_at = path.metadata().and_then(|found| found.modified()).ok();
    let origin = Origin {
        target: Target {
            pid: ProcessId(0),
            name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            runtime_version: None,
            architecture: None,
            started_at: None,
            command_line: None,
        },
        taken_at: written_at.and_then(|time| time.try_into().ok()).unwrap_or_else(Timestamp::now),
        cost: Cost {
            method: "read from a core dump; no process is there to be stopped".to_owned(),
            ..Cost::default()
        },
        notes,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    Ok((Look::of(heap.graph), origin))
}

fn unreadable(path: &Path, error: &gc_memory::Error) -> Failure {
    let what = format!("reading {}: its heap cannot be read", path.display());
    Failure::new(Code::BadHeapFile, what)
        .why(error.to_string())
        .next("drdotnet heap -p PID   takes it from the running process, of any .NET")
        .next("drdotnet dump collect -p PID --type Heap   writes a dump that has what is needed, of .NET 9 and 10")
        .next("dotnet-dump analyze   opens dumps of other versions")
}
