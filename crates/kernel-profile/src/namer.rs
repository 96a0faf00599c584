//! Names of frames.

use std::collections::HashMap;

use model::{Frame, FrameKind, ProcessId};
use native_symbols::{Backing, DebugFolders, Mapping, MemoryMap, Named, NativeNames};
use nettrace::CodeAddress;
use runtime_events::MethodId;
use runtime_events::jit::Tier;
use symbols::{MethodIndex, MethodKind, MethodRef, Position, SourceLookup};

use crate::Names;
use crate::followed::{BROKEN, CUT, Followed};
use crate::images::Images;
use crate::memory::Memory;
use crate::stubs;

/// Where addresses of the kernel begin.
pub(crate) const KERNEL: u64 = 1 << 63;
/// Frames of native code that are kept from one look to the next.
const MOST_KEPT: usize = 256 << 10;

/// What was found at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Managed,
    ManagedUnnamed,
    Native,
    NativeUnnamed,
    Stub,
    Kernel,
    /// Stands for frames that are missing.
    Mark,
}

/// A frame among those of a [`Namer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FrameNumber(pub(crate) u32);

/// What is learned of a process's files, for as long as it is followed.
pub(crate) struct Known {
    pub(crate) native: NativeNames,
    source: SourceLookup,
    images: Images,
    frames: HashMap<u64, (Frame, Kind)>,
}

impl Known {
    pub(crate) fn new(process: &Followed, names: &Names<'_>) -> Known {
        let folders = DebugFolders { root: process.root(), cache: names.debug_cache.clone() };
        let mut native = NativeNames::new(folders);
        // All processes of a kernel have the same one, so ours will do.
        if let Some(vdso) = own_vdso() {
            native.learn_vdso(&vdso);
        }
        let source = SourceLookup::new(Some(process.root()));
        Known { native, source, images: Images::default(), frames: HashMap::new() }
    }
}

/// How an address is found its name.
#[derive(Clone, Copy)]
enum Found {
    /// At all times.
    Always(FrameNumber),
    /// Several methods were there, one after the other.
    ByTime,
}

/// Gives addresses their frames.
pub(crate) struct Namer<'a> {
    names: &'a Names<'a>,
    process: &'a Followed,
    known: &'a mut Known,
    pub(crate) memory: Memory,
    /// What is mapped now: not all that came later was told of.
    now: Option<MemoryMap>,
    frames: Vec<(Frame, Kind)>,
    numbers: HashMap<(String, Option<String>, Option<u32>, Kind), FrameNumber>,
    found: HashMap<(u64, bool), Found>,
    methods: HashMap<(MethodIndex, u64, bool), FrameNumber>,
    replacements: HashMap<(u64, bool), Option<MethodId>>,
}

impl<'a> Namer<'a> {
    pub(crate) fn new(names: &'a Names<'a>, process: &'a Followed, known: &'a mut Known) -> Namer<'a> {
        Namer {
            names,
            process,
            known,
            memory: Memory::of(process.pid),
            now: None,
            frames: Vec::new(),
            numbers: HashMap::new(),
            found: HashMap::new(),
            methods: HashMap::new(),
            replacements: HashMap::new(),
        }
    }

    /// The frame at an address at a moment, and whether it is the same at every moment. `interrupted` tells an innermost
    /// frame from those that have called another.
    pub(crate) fn frame(&mut self, address: u64, interrupted: bool, at_ns: u64) -> (FrameNumber, bool) {
        let found = match self.found.get(&(address, interrupted)) {
            Some(found) => *found,
            None => {
                let found = self.find(address, interrupted);
                self.found.insert((address, interrupted), found);
                found
            }
        };
        match found {
            Found::Always(frame) => (frame, true),
            Found::ByTime => {
                let method = self.names.code.method_at(CodeAddress(address), position(interrupted), at_ns);
                let frame = method.map(|method| self.method(&method, address, interrupted));
                (frame.unwrap_or_else(|| self.number(unknown(), Kind::NativeUnnamed)), false)
            }
        }
    }

    pub(crate) fn kind(&self, frame: FrameNumber) -> Option<Kind> {
        self.frames.get(frame.0 as usize).map(|(_, kind)| *kind)
    }

    /// The frame of a number.
    pub(crate) fn named(&self, number: u64) -> Frame {
        let frame = usize::try_from(number).ok().and_then(|number| self.frames.get(number));
        frame.map_or_else(unknown, |(frame, _)| frame.clone())
    }

    fn find(&mut self, address: u64, interrupted: bool) -> Found {
        // The byte of the instruction that ran: of a caller it is the call.
        let byte = if interrupted { address } else { address.saturating_sub(1) };
        if address >= KERNEL {
            let told = self.process.told.name(address);
            let name = told.or_else(|| self.names.kernel?.function(byte));
            let name = name.map_or_else(|| "[kernel]".to_owned(), str::to_owned);
            return Found::Always(self.number(plain(FrameKind::Kernel, name), Kind::Kernel));
        }
        if address == CUT || address == BROKEN {
            let name = if address == CUT { "[cut: too deep for the kernel]" } else { "[callers not found]" };
            return Found::Always(self.number(plain(FrameKind::Native, name.to_owned()), Kind::Mark));
        }
        let code = self.names.code;
        let mut over = code.methods_over(CodeAddress(address), position(interrupted));
        match (over.next(), over.next()) {
            (Some(_), Some(_)) => return Found::ByTime,
            (Some(method), None) => return Found::Always(self.method(&method, address, interrupted)),
            (None, _) => {}
        }
        let (frame, kind) = match self.known.frames.get(&byte) {
            Some(known) => known.clone(),
            None => self.find_outside(address, byte, interrupted),
        };
        Found::Always(self.number(frame, kind))
    }

    /// Native code, and managed code that the runtime did not tell of.
    fn find_outside(&mut self, address: u64, byte: u64, interrupted: bool) -> (Frame, Kind) {
        let Some(mapping) = self.mapping(byte) else {
            return (unknown(), Kind::NativeUnnamed);
        };
        if self.process.unwinder.modules.covers(byte) || mapping.backing == Backing::Vdso {
            let (frame, named) = self.native(byte, &mapping);
            let kind = if named == Named::Function { Kind::Native } else { Kind::NativeUnnamed };
            self.keep(byte, &frame, kind);
            return (frame, kind);
        }
        let Backing::File(path) = &mapping.backing else { return self.in_memory(address, interrupted) };
        let begins = self.begins(path, &mapping);
        if let Some(frame) = self.known.images.frame(&self.process.root(), byte, &mapping, &begins) {
            self.keep(byte, &frame, Kind::Managed);
            return (frame, Kind::Managed);
        }
        let by_entry = self.names.code.method_for(CodeAddress(address), position(interrupted));
        if let Some(method) = by_entry {
            return (method.frame(), Kind::Managed);
        }
        // A library without tables: not managed if it has functions.
        if let Some((frame, Named::Function)) = self.known.native.frame(byte, &mapping) {
            return (frame, Kind::Native);
        }
        let module = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = format!("{module}!?");
        let frame = Frame { kind: FrameKind::Managed, name, module: Some(module), file: None, line: None };
        self.keep(byte, &frame, Kind::ManagedUnnamed);
        (frame, Kind::ManagedUnnamed)
    }

    /// A function of a library, or the place where one without a name begins.
    fn native(&mut self, byte: u64, mapping: &Mapping) -> (Frame, Named) {
        let found = self.known.native.frame(byte, mapping);
        let start =
            || self.process.unwinder.modules.function_start(byte).filter(|start| *start >= mapping.start);
        match found {
            Some((frame, Named::Function)) => (frame, Named::Function),
            Some((frame, Named::Module)) => {
                let by_start = start().and_then(|start| self.known.native.frame(start, mapping));
                (by_start.map_or(frame, |(frame, _)| frame), Named::Module)
            }
            None => (unknown(), Named::Module),
        }
    }

    /// Code that the runtime wrote and does not tell of. If it was interrupted, it is glue; glue calls nothing, so what has
    /// called is a method, and has lost its name.
    fn in_memory(&self, address: u64, interrupted: bool) -> (Frame, Kind) {
        let by_entry = self.names.code.method_for(CodeAddress(address), position(interrupted));
        if let Some(method) = by_entry {
            return (method.frame(), Kind::Managed);
        }
        let from = address.saturating_sub(stubs::AROUND as u64);
        let code = self.memory.read(from, 2 * stubs::AROUND);
        let at = usize::try_from(address - from).unwrap_or(0);
        match stubs::kind(&code, at) {
            None if !interrupted || self.names.code.methods().next().is_none() => {
                (plain(FrameKind::Managed, "[compiled code]".to_owned()), Kind::ManagedUnnamed)
            }
            kind => (plain(FrameKind::Stub, kind.unwrap_or("[stub]").to_owned()), Kind::Stub),
        }
    }

    /// The method at an address at a moment.
    pub(crate) fn method_at(&self, address: u64, position: Position, at_ns: u64) -> Option<MethodRef<'a>> {
        self.names.code.method_at(CodeAddress(address), position, at_ns)
    }

    /// Whether code took the place of its caller while that ran (on-stack replacement): one call, not two.
    pub(crate) fn replaced(&mut self, callee: (u64, bool), caller: u64, at_ns: u64) -> bool {
        let (address, interrupted) = callee;
        let code = self.names.code;
        let replacement = *self.replacements.entry(callee).or_insert_with(|| {
            let mut over = code.methods_over(CodeAddress(address), position(interrupted));
            over.find(|method| method.tier() == Tier::Tier1OnStackReplacement).map(|method| method.id())
        });
        let Some(id) = replacement else { return false };
        self.method_at(caller, Position::Caller, at_ns)
            .is_some_and(|method| method.id() == id && method.tier() != Tier::Tier1OnStackReplacement)
    }

    fn method(&mut self, method: &MethodRef<'_>, address: u64, interrupted: bool) -> FrameNumber {
        let key = (method.index(), address, interrupted);
        if let Some(frame) = self.methods.get(&key) {
            return *frame;
        }
        let mut frame = method.frame();
        if !symbols::is_framework(&frame) {
            frame = self.known.source.frame_of(method, CodeAddress(address), position(interrupted));
        }
        let kind = if method.kind() == MethodKind::Stub { Kind::Stub } else { Kind::Managed };
        let number = self.number(frame, kind);
        self.methods.insert(key, number);
        number
    }

    fn number(&mut self, frame: Frame, kind: Kind) -> FrameNumber {
        let key = (frame.name.clone(), frame.module.clone(), frame.line, kind);
        *self.numbers.entry(key).or_insert_with(|| {
            self.frames.push((frame, kind));
            FrameNumber(u32::try_from(self.frames.len() - 1).unwrap_or(u32::MAX))
        })
    }

    /// What an address lies in, by what was told, or else by what is there now.
    fn mapping(&mut self, address: u64) -> Option<Mapping> {
        if let Some(mapping) = self.process.map.find(address) {
            return Some(mapping.clone());
        }
        self.now().find(address).cloned()
    }

    fn now(&mut self) -> &MemoryMap {
        let pid = self.process.pid;
        self.now.get_or_insert_with(|| MemoryMap::of_process(pid).unwrap_or_default())
    }

    /// Where in a file the parts begin that are mapped up to a mapping of it, nearest first.
    fn begins(&mut self, path: &std::path::Path, mapping: &Mapping) -> Vec<u64> {
        let is_it = |one: &Mapping| {
            one.start <= mapping.start && matches!(&one.backing, Backing::File(other) if other == path)
        };
        let told: Vec<(u64, u64)> =
            self.process.map.iter().filter(|one| is_it(one)).map(|one| (one.start, one.offset)).collect();
        let now = self.now().iter().filter(|one| is_it(one)).map(|one| (one.start, one.offset));
        let mut all: Vec<(u64, u64)> = now.chain(told).collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter().rev().map(|(_, offset)| offset).collect()
    }

    fn keep(&mut self, byte: u64, frame: &Frame, kind: Kind) {
        if self.known.frames.len() >= MOST_KEPT {
            self.known.frames.clear();
        }
        self.known.frames.insert(byte, (frame.clone(), kind));
    }
}

fn position(interrupted: bool) -> Position {
    if interrupted { Position::Interrupted } else { Position::Caller }
}

fn unknown() -> Frame {
    plain(FrameKind::Native, "[unknown]".to_owned())
}

fn plain(kind: FrameKind, name: String) -> Frame {
    Frame { kind, name, module: None, file: None, line: None }
}

/// The kernel's page of code in this process.
fn own_vdso() -> Option<Vec<u8>> {
    let own = ProcessId(std::process::id());
    let map = MemoryMap::of_process(own).ok()?;
    let mapping = map.iter().find(|mapping| mapping.backing == Backing::Vdso)?;
    let bytes = usize::try_from(mapping.end - mapping.start).ok().filter(|bytes| *bytes < 1 << 20)?;
    Some(Memory::of(own).read(mapping.start, bytes))
}
