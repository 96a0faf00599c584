//! Reading `.gcdump` files.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use heap_graph::HeapGraph;
use heap_graph::gcdump::{self, DumpInfo};
use heap_reports::{Look, Origin};
use model::{Cost, HostCost, ProcessId, Target};

use crate::exit_code::Code;
use crate::explain::Failure;

/// A heap from a file, and where it came from.
pub fn open(path: &Path) -> Result<(Look, Origin), Failure> {
    let (graph, info) = read(path)?;
    let look = Look::of(graph);
    let origin = origin(path, &info);
    Ok((look, origin))
}

/// The graph of a file, and what the file says beside it.
pub fn read(path: &Path) -> Result<(HeapGraph, DumpInfo), Failure> {
    let shown = path.display();
    let file = File::open(path).map_err(|error| {
        let failure = Failure::new(Code::BadHeapFile, format!("reading {shown}: {error}"));
        match error.kind() {
            ErrorKind::NotFound if path.to_str().is_some_and(|text| text.parse::<u32>().is_ok()) => {
                failure.next(format!("drdotnet gcdump report -p {shown}   looks at the process with this id"))
            }
            ErrorKind::NotFound => failure.next("drdotnet gcdump collect -p PID   writes one"),
            _ => failure.next("check who may read it"),
        }
    })?;
    if file.metadata().is_ok_and(|found| found.is_dir()) {
        return Err(Failure::new(Code::BadHeapFile, format!("{shown} is a folder"))
            .next("name the .gcdump file in it"));
    }
    gcdump::read(file).map_err(|error| damaged(path, &error))
}

fn damaged(path: &Path, error: &heap_graph::Error) -> Failure {
    use heap_graph::Error;
    let failure = Failure::new(Code::BadHeapFile, format!("reading {}: {error}", path.display()));
    match error {
        Error::NotAGcDump { .. } => match begins_with(path).as_slice() {
            b"Nettr" => failure
                .why("it is a trace (.nettrace)")
                .next("drdotnet gcdump collect -p PID   writes a heap"),
            [0x7f, b'E', b'L', b'F', ..] => failure
                .why("it is a core dump")
                .next("dotnet-dump analyze   opens it; drdotnet gcdump collect -p PID   writes a heap"),
            _ => failure.next("drdotnet gcdump collect -p PID   writes one"),
        },
        Error::Truncated { .. } => failure
            .why("the file is not complete: it was cut off while it was written or copied")
            .next("copy it again, or collect a new one"),
        Error::Unsupported { .. } => failure.why("it was written by a tool that this version does not know"),
        Error::Io(_) => failure.next("check the disk that it lies on"),
        _ => failure.why("the file is damaged").next("copy it again, or collect a new one"),
    }
}

fn begins_with(path: &Path) -> Vec<u8> {
    let mut head = Vec::new();
    let _ = File::open(path).map(|file| file.take(5).read_to_end(&mut head));
    head
}

fn origin(path: &Path, info: &DumpInfo) -> Origin {
    let file_name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut notes = Vec::new();
    if info.count_multiplier > 1.0 || info.size_multiplier > 1.0 {
        notes.push(format!(
            "The file holds a sample: there are about {:.1} times as many objects.",
            info.count_multiplier
        ));
    }
    Origin {
        target: Target {
            pid: ProcessId(u32::try_from(info.process_id).unwrap_or(0)),
            name: info.process_name.clone().filter(|name| !name.is_empty()).unwrap_or(file_name),
            runtime_version: None,
            architecture: None,
            started_at: None,
            command_line: None,
        },
        taken_at: crate::clock::from_dotnet_ticks(info.collected_ticks)
            .or_else(|| path.metadata().ok()?.modified().ok()?.try_into().ok())
            .unwrap_or_else(model::Timestamp::now),
        cost: Cost {
            method: "read from a file; nothing sent to the process".to_owned(),
            host: host(),
            ..Cost::default()
        },
        notes,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// What this tool used so far.
pub fn host() -> HostCost {
    HostCost {
        cpu_ns: u64::try_from(process_view::own_cpu_time().as_nanos()).unwrap_or(u64::MAX),
        peak_memory_bytes: process_view::Process::this().peak_memory().unwrap_or(0),
    }
}
