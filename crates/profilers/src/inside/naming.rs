//! Names for what the agent saw: the same names, files and lines as those of the other engines.

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard};

use agent_host::{Method, Stacks};
use model::{Cost, Frame, FrameKind};
use nettrace::CodeAddress;
use process_view::Process;
use runtime_events::MetadataToken;
use symbols::{CodeMap, LineKind, SourceLookup, human_name, is_framework_module, module_name};

use super::lines::AllCode;
use crate::blame;
use crate::naming::{method_at, read_missing};
use crate::profiler::Run;

/// What stands for native code between managed frames: the agent does not walk it.
const NATIVE: &str = "[native code]";

/// A managed thread and its stack.
#[derive(Clone, Debug)]
pub(crate) struct NamedThread {
    /// The operating system's number, in the target's pid namespace; 0 if the runtime does not tell.
    pub(crate) os: u32,
    /// Innermost first. Frames that are the same are shared.
    pub(crate) frames: Vec<Arc<Frame>>,
    /// Whether outer frames are missing.
    pub(crate) cut: bool,
}

/// How well lines are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lines {
    /// Frames with the line they were at.
    pub(crate) exact: u32,
    /// Frames with the first line of their method.
    pub(crate) method_start: u32,
}

impl Lines {
    fn count(&mut self, kind: LineKind) {
        match kind {
            LineKind::Exact => self.exact += 1,
            LineKind::MethodStart => self.method_start += 1,
        }
    }
}

/// The stacks of all managed threads with names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Named {
    /// The threads, in the runtime's order.
    pub(crate) threads: Vec<NamedThread>,
    /// How well lines are known.
    pub(crate) lines: Lines,
}

impl Named {
    /// Names stacks with what the namer knows.
    pub(crate) fn of(namer: &mut Namer, stacks: &Stacks) -> Named {
        namer.lines = Lines::default();
        let mut known: HashMap<(u64, u64), Arc<Frame>> = HashMap::new();
        let threads = stacks
            .stacks
            .iter()
            .map(|stack| NamedThread {
                os: stack.thread.os,
                cut: stack.cut,
                frames: without_outer_native(&stack.frames)
                    .iter()
                    .map(|&(method, address)| {
                        let frame =
                            known.entry((method, if method == 0 { 0 } else { address })).or_insert_with(
                                || Arc::new(namer.frame(stacks.methods.get(&method), method, address)),
                            );
                        Arc::clone(frame)
                    })
                    .collect(),
            })
            .collect();
        Named { threads, lines: namer.lines }
    }
}

/// Every thread begins in native code, which says nothing.
fn without_outer_native(frames: &[(u64, u64)]) -> &[(u64, u64)] {
    let outermost = frames.iter().rposition(|(method, _)| *method != 0);
    outermost.and_then(|at| frames.get(..=at)).unwrap_or_default()
}

/// Whether all of the program's own code on these stacks is known.
fn knows(code: &CodeMap, stacks: &Stacks) -> bool {
    let frames = stacks.stacks.iter().flat_map(|stack| &stack.frames);
    let mut own = frames.filter(|(method, _)| {
        stacks.methods.get(method).is_some_and(|method| !is_framework_module(&method.module))
    });
    own.all(|(_, address)| method_at(code, CodeAddress(*address)).is_some())
}

/// Names methods that the agent told of.
pub(crate) struct Namer {
    source: SourceLookup,
    lines: Lines,
    /// All code, once it was asked for.
    all: Option<AllCode>,
}

impl Namer {
    /// Names what these stacks hold. The runtime is asked for all its code if that makes lines exact, because methods of theirs
    /// have symbol files, or if it takes a signature to tell an iterator from an async method; unless another look has been
    /// told of it all.
    pub(crate) fn of<const LOOKS: usize>(run: &Run<'_>, stacks: [&Stacks; LOOKS]) -> Namer {
        let process = run.process;
        let root = process.visible.then(|| Process::new(process.pid).root());
        let mut namer = Namer { source: SourceLookup::new(root), lines: Lines::default(), all: None };
        let needs_all = stacks.iter().flat_map(|stacks| stacks.methods.values()).any(|method| {
            !is_framework_module(&method.module)
                && (method.name == "MoveNext"
                    || namer.source.line_of(&method.module, MetadataToken(method.token), None).is_some())
        });
        if needs_all {
            let handed_on = run.handed_on_code().map(AllCode::handed_on);
            let handed_on = handed_on.filter(|all| {
                let frames = stacks.iter().flat_map(|stacks| &stacks.stacks).flat_map(|stack| &stack.frames);
                let managed =
                    frames.filter(|(method, _)| *method != 0).map(|(_, address)| CodeAddress(*address));
                let mut code = all.lock();
                read_missing(process, &mut code, managed) || stacks.iter().all(|stacks| knows(&code, stacks))
            });
            namer.all = handed_on.or_else(|| process.client().and_then(AllCode::ask));
        }
        namer
    }

    /// All code, if it was asked for.
    pub(super) fn code(&self) -> Option<MutexGuard<'_, CodeMap>> {
        self.all.as_ref().map(AllCode::lock)
    }

    /// Adds what it cost.
    pub(crate) fn charge(&self, cost: &mut Cost) {
        if let Some(all) = &self.all {
            all.charge(cost, "exact lines");
        }
    }

    /// The frame at an address, as the runtime's own description of its code has it: with type arguments, and exact.
    fn told(&mut self, address: u64) -> Option<Frame> {
        let code = self.all.as_ref()?.lock();
        let address = CodeAddress(address);
        let (method, position) = method_at(&code, address)?;
        let mut frame = method.frame();
        if blame::is_own(&frame)
            && let Some(source) = self.source.line(&method, address, position)
        {
            self.lines.count(source.kind);
            (frame.file, frame.line) = (Some(source.file), Some(source.line));
        }
        Some(frame)
    }

    /// The frame of a method.
    pub(crate) fn frame(&mut self, method: Option<&Method>, id: u64, address: u64) -> Frame {
        if id != 0
            && let Some(frame) = self.told(address)
        {
            return frame;
        }
        let bare =
            |kind, name: &str| Frame { kind, name: name.to_owned(), module: None, file: None, line: None };
        let Some(method) = method else {
            return if id == 0 {
                bare(FrameKind::Native, NATIVE)
            } else {
                bare(FrameKind::Managed, blame::UNNAMED)
            };
        };
        let name = if method.name.is_empty() {
            blame::UNNAMED.to_owned()
        } else {
            human_name(&method.class, &method.name, "")
        };
        let mut frame = bare(FrameKind::Managed, &name);
        frame.module = (!method.module.is_empty()).then(|| module_name(&method.module).to_owned());
        // The framework comes without symbols; looking for them takes time.
        if blame::is_own(&frame)
            && let Some(source) = self.source.line_of(&method.module, MetadataToken(method.token), None)
        {
            self.lines.count(source.kind);
            (frame.file, frame.line) = (Some(source.file), Some(source.line));
        }
        frame
    }
}
