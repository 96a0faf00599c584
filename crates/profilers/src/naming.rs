//! Names of frames: methods, and for the program's own code its place in the source.

use std::cell::RefCell;

use discovery::DotnetProcess;
use model::{Frame, FrameKind};
use nettrace::CodeAddress;
use process_view::Process;
use runtime_memory::RuntimeMemory;
use symbols::{CodeMap, MethodRef, Position, SourceLookup};

use crate::blame;

/// The method at an address of a stack: behind a call, or where the thread was stopped.
pub(crate) fn method_at(code: &CodeMap, address: CodeAddress) -> Option<(MethodRef<'_>, Position)> {
    let positions = [Position::Caller, Position::Interrupted];
    positions.into_iter().find_map(|position| Some((code.method_for(address, position)?, position)))
}

/// Reads from the memory of a process what is not known of the code at these addresses, and says whether memory could be read, if
/// it had to be: then what is still not known has no name.
pub(crate) fn read_missing(
    process: &DotnetProcess,
    code: &mut CodeMap,
    addresses: impl Iterator<Item = CodeAddress>,
) -> bool {
    let missing: Vec<u64> =
        addresses.filter(|address| method_at(code, *address).is_none()).map(|address| address.0).collect();
    if missing.is_empty() {
        return true;
    }
    let Some(mut memory) = process.visible.then(|| RuntimeMemory::open(process.pid).ok()).flatten() else {
        return false;
    };
    memory.teach(code, missing.into_iter().flat_map(|address| [address.saturating_sub(1), address]));
    code.settle();
    true
}

/// Names code of one process.
pub(crate) struct Naming {
    /// Symbol files are opened when a frame of theirs is first asked for.
    source: RefCell<SourceLookup>,
}

impl Naming {
    /// Names code of this process, whose files are looked for where it sees them.
    pub(crate) fn of(process: &DotnetProcess) -> Naming {
        let root = process.visible.then(|| Process::new(process.pid).root());
        Naming { source: RefCell::new(SourceLookup::new(root)) }
    }

    /// The method whose code begins at an address, or goes on there; none if no method is known there.
    pub(crate) fn entry(&self, code: &CodeMap, address: CodeAddress) -> Option<Frame> {
        let method = code.method_for(address, Position::Interrupted)?;
        let frame = method.frame();
        if !blame::is_own(&frame) {
            return Some(frame);
        }
        Some(self.source.borrow_mut().frame_of(&method, address, Position::Interrupted))
    }

    /// The frame at an address; `?` if no method is known there. Nearly all addresses of stacks are those behind a call.
    pub(crate) fn frame(&self, code: &CodeMap, address: CodeAddress) -> Frame {
        let Some((method, position)) = method_at(code, address) else {
            return Frame {
                kind: FrameKind::Managed,
                name: blame::UNNAMED.to_owned(),
                module: None,
                file: None,
                line: None,
            };
        };
        let frame = method.frame();
        // The framework comes without symbols; looking for them takes time.
        if blame::is_own(&frame) {
            self.source.borrow_mut().frame_of(&method, address, position)
        } else {
            frame
        }
    }
}
