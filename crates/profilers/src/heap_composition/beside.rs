//! The memory around a heap that somebody has taken already: one look, without listening.

use std::ops::Range;

use discovery::DotnetProcess;
use heap_graph::HeapGraph;
use model::{Body, Column, Section, Table, Unit};
use process_view::Process;

use super::native::{Native, Use};
use crate::ratio::percent;

/// The memory of a process by what it is for, now; nothing where the kernel does not show it. The heap's own ranges, where
/// they are known, tell it from other memory.
#[must_use]
pub fn memory_of(process: &DotnetProcess, heap: &HeapGraph) -> Option<Section> {
    let view = process.visible.then(|| Process::new(process.pid).memory().ok())??;
    let ranges = heap.generations().ranges().iter();
    let ranges: Vec<Range<u64>> = ranges.map(|range| range.start.0..range.end.0).collect();
    let now = Native::of(&view, &ranges);
    let mut table = Table::new([
        Column::new("resident", "In memory", Unit::Bytes),
        Column::new("share", "Share", Unit::Percent),
        Column::new("use", "What for", Unit::Text),
    ]);
    for its_use in Use::ALL.into_iter().filter(|its_use| now.used(*its_use) > 0) {
        let used = now.used(its_use);
        table.push([used.into(), percent(used, now.total()).into(), its_use.words().into()]);
    }
    Some(Section::new("memory", "All memory of the process", Body::Table(table)))
}
