//! Kinds of dumps, and how large they become.

use diagnostics_ipc::DumpKind;
use process_view::Process;

/// A kind by its name, as dotnet-dump writes it, in any case.
#[must_use]
pub fn parse_kind(text: &str) -> Option<DumpKind> {
    Some(match text.to_ascii_lowercase().as_str() {
        "full" => DumpKind::Full,
        "heap" => DumpKind::Heap,
        "mini" => DumpKind::Mini,
        "triage" => DumpKind::Triage,
        _ => return None,
    })
}

/// Stacks and descriptions of the runtime, in a process of any size.
const SMALL: u64 = 16 << 20;
/// A thread's part of a small dump.
const PER_THREAD: u64 = 128 << 10;
/// Code of the runtime and of libraries in a full dump.
const CODE: u64 = 64 << 20;

/// About how many bytes a dump of a process will have; none when its memory cannot be seen.
#[must_use]
pub fn expected_bytes(process: &Process, kind: DumpKind) -> Option<u64> {
    let status = process.status().ok()?;
    let own = status.data_bytes.max(status.resident_bytes)?;
    let threads = process.stat().map_or(1, |stat| stat.threads);
    Some(match kind {
        DumpKind::Full => own.saturating_add(CODE),
        DumpKind::Heap => own,
        DumpKind::Mini | DumpKind::Triage => SMALL.saturating_add(threads.saturating_mul(PER_THREAD)),
    })
}
