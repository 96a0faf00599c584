//! The target's memory: read from outside where this user may, else by an agent.

use std::fs::File;
use std::os::unix::fs::FileExt;

use agent_host::AgentError;
use heap_graph::{HeapGraph, NodeId};
use model::ProcessId;

use crate::inside::Guest;

/// Objects that lie no further apart are read at once.
const GAP: u64 = 4096;

/// Reads parts of a process's memory. The process runs on meanwhile.
pub(crate) trait Memory {
    /// The longest part that is read at once.
    fn longest(&self) -> usize;

    /// Fills the buffer; false if not all of it can be read.
    fn read(&mut self, address: u64, into: &mut [u8]) -> bool;
}

/// From outside.
pub(crate) struct Outside(File);

impl Outside {
    /// None if this user may not.
    pub(crate) fn open(pid: ProcessId) -> Option<Outside> {
        let file = File::open(format!("/proc/{pid}/mem")).ok()?;
        Some(Outside(file))
    }
}

impl Memory for Outside {
    fn longest(&self) -> usize {
        1 << 20
    }

    fn read(&mut self, address: u64, into: &mut [u8]) -> bool {
        self.0.read_exact_at(into, address).is_ok()
    }
}

/// By an agent in the process.
pub(crate) struct Inside<'a, 'b> {
    pub(crate) guest: &'a mut Guest<'b>,
    /// Why it answers no more.
    pub(crate) failed: Option<AgentError>,
}

impl Memory for Inside<'_, '_> {
    fn longest(&self) -> usize {
        // One message.
        48 << 10
    }

    fn read(&mut self, address: u64, into: &mut [u8]) -> bool {
        if self.failed.is_some() {
            return false;
        }
        let Ok(length) = u32::try_from(into.len()) else { return false };
        match self.guest.ask_running(|agent| agent.memory(&[(address, length)])) {
            Ok(mut parts) => match parts.pop().flatten() {
                Some(bytes) if bytes.len() == into.len() => {
                    into.copy_from_slice(&bytes);
                    true
                }
                _ => false,
            },
            Err(error) => {
                self.failed = Some(error);
                false
            }
        }
    }
}

/// The bytes of an object on the heap: what the graph says, rounded up.
pub(crate) fn size_on_heap(graph: &HeapGraph, node: NodeId) -> u64 {
    graph.size(node).next_multiple_of(8)
}

/// Reads objects, which must be ordered by address, many of them at once. Those that cannot be read are left out, and those
/// that are longer than what is read at once are handed to `long`. Gives the number of bytes that were read.
pub(crate) fn read_objects<M: Memory>(
    graph: &HeapGraph,
    memory: &mut M,
    objects: &[NodeId],
    mut each: impl FnMut(NodeId, &[u8]),
    mut long: impl FnMut(&mut M, NodeId),
) -> u64 {
    let mut window = Vec::new();
    let (mut rest, mut read) = (objects, 0);
    while let Some((first, others)) = rest.split_first() {
        let count = near(graph, memory.longest() as u64, rest);
        if count == 0 {
            long(memory, *first);
            rest = others;
            continue;
        }
        let (now, later) = rest.split_at(count);
        rest = later;
        // What is gone in part is halved until the part is found.
        let mut open = vec![now];
        while let Some(part) = open.pop() {
            let (Some(first), Some(last)) = (part.first(), part.last()) else { continue };
            let start = graph.address(*first).0;
            let end = graph.address(*last).0.saturating_add(size_on_heap(graph, *last));
            window.resize(usize::try_from(end.saturating_sub(start)).unwrap_or(0), 0);
            read += window.len() as u64;
            if !memory.read(start, &mut window) {
                if part.len() > 1 {
                    let (one, other) = part.split_at(part.len() / 2);
                    open.extend([other, one]);
                }
                continue;
            }
            for node in part {
                let at = usize::try_from(graph.address(*node).0 - start).ok();
                let size = usize::try_from(size_on_heap(graph, *node)).ok();
                let object = at.zip(size).and_then(|(at, size)| window.get(at..)?.get(..size));
                if let Some(object) = object {
                    each(*node, object);
                }
            }
        }
    }
    read
}

/// How many of these can be read at once.
fn near(graph: &HeapGraph, longest: u64, objects: &[NodeId]) -> usize {
    let Some(start) = objects.first().map(|node| graph.address(*node).0) else { return 0 };
    let mut end = start;
    let fits = objects.iter().take_while(|node| {
        let at = graph.address(**node).0;
        let last = end;
        end = at.saturating_add(size_on_heap(graph, **node));
        at.saturating_sub(last) <= GAP && end.saturating_sub(start) <= longest
    });
    fits.count()
}
