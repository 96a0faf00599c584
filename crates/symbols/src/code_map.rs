//! Which method an address belongs to.

use std::collections::HashMap;

use model::Frame;
use nettrace::{CodeAddress, Utf16};
use runtime_events::jit::{self, IlToNativeMap, Tier};
use runtime_events::{AssemblyId, MetadataToken, MethodId, ModuleId, RuntimeEvent, loader};

use crate::il_maps::{IlMap, IlMaps};
use crate::method::{Code, MethodIndex, MethodKind, MethodRef, Module, Position};
use crate::text::{TextId, TextTable};

/// So many pieces of code are kept, whatever a target sends.
const MAX_CODE: usize = 4 << 20;

/// So many modules and assemblies are kept.
const MAX_MODULES: usize = 64 << 10;

/// How far before an address its method is looked for when pieces of code overlap.
const MAX_OVERLAPS: usize = 64;

/// Code that is known by its entry point alone is taken to be no longer than this.
const ENTRY_POINT_REACH: u64 = 16 << 10;

/// Whether an event said something about code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learned {
    /// It did.
    Code,
    /// It was about something else.
    Nothing,
}

/// How much a [`CodeMap`] knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Naming {
    /// Pieces of code with a name.
    pub methods: u64,
    /// Of them, those with an IL map.
    pub with_il_map: u64,
    /// Modules.
    pub modules: u64,
    /// Methods, modules and IL maps that were too many to be kept.
    pub dropped: u64,
}

/// The code of a process, as its runtime told of it.
#[derive(Default)]
pub struct CodeMap {
    code: Vec<Code>,
    /// The same code, told of when it was loaded and again by the rundown, is one.
    known: HashMap<(u64, MethodId), u32>,
    /// The code of a method that was told of last.
    latest: HashMap<MethodId, u32>,
    /// Maps whose code is yet to be told of, with the version of the code.
    early_maps: HashMap<MethodId, (Version, IlMap)>,
    maps: IlMaps,
    texts: TextTable,
    modules: HashMap<ModuleId, Module>,
    assemblies: HashMap<AssemblyId, String>,
    /// Ordered by start; each with the furthest end up to there.
    by_start: Vec<(u32, u64)>,
    /// Entry points, ordered by start.
    entry_points: Vec<u32>,
    unsettled: bool,
    dropped: u64,
}

/// Which code of a method an IL map belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    /// The one with this number.
    Number(u64),
    /// The one that is told of next to it: .NET Core 3.1 does not number them.
    Adjacent,
}

impl Version {
    fn of(map: &IlToNativeMap<'_>) -> Version {
        if map.il_version.is_some() { Version::Number(map.rejit.0) } else { Version::Adjacent }
    }

    fn fits(self, code: &Code) -> bool {
        code.kind != MethodKind::ReadyToRun
            && match self {
                Version::Number(number) => code.version == number,
                Version::Adjacent => true,
            }
    }
}

impl CodeMap {
    /// An empty map.
    #[must_use]
    pub fn new() -> CodeMap {
        CodeMap::default()
    }

    /// Takes in what an event says about code: methods, modules, IL maps, of the session or of its rundown.
    pub fn learn(&mut self, event: &RuntimeEvent<'_>) -> Learned {
        self.learn_at(event, 0)
    }

    /// The same with the time of the event, in nanoseconds of the trace, for [`CodeMap::method_at`].
    pub fn learn_at(&mut self, event: &RuntimeEvent<'_>, at_ns: u64) -> Learned {
        match event {
            RuntimeEvent::MethodLoad(method) => self.method_is_there(method, at_ns),
            RuntimeEvent::MethodRundown(method) => self.method_is_there(method, 0),
            RuntimeEvent::MethodUnload(method) => {
                if let Some(code) = self.add_method(method, 0) {
                    // Without a time it is gone at some moment, which is later than any that is asked for.
                    code.until_ns = if at_ns == 0 { u64::MAX - 1 } else { at_ns };
                }
            }
            RuntimeEvent::ReadyToRunEntryPoint(entry) => self.entry_point(entry, at_ns),
            RuntimeEvent::IlToNativeMap(map) => self.map_after_its_code(map),
            RuntimeEvent::IlToNativeMapRundown(map) => self.map_before_its_code(map),
            RuntimeEvent::ModuleLoad(module)
            | RuntimeEvent::ModuleUnload(module)
            | RuntimeEvent::ModuleRundown(module) => self.add_module(module),
            RuntimeEvent::DomainModuleLoad(module) | RuntimeEvent::DomainModuleRundown(module) => {
                self.add_domain_module(module);
            }
            RuntimeEvent::AssemblyLoad(assembly)
            | RuntimeEvent::AssemblyUnload(assembly)
            | RuntimeEvent::AssemblyRundown(assembly) => self.add_assembly(assembly),
            _ => return Learned::Nothing,
        }
        Learned::Code
    }

    fn method_is_there(&mut self, method: &jit::Method<'_>, from_ns: u64) {
        let Some(code) = self.add_method(method, from_ns) else { return };
        if from_ns > 0 && from_ns >= code.until_ns {
            (code.from_ns, code.until_ns) = (from_ns, u64::MAX);
        }
        let Some((version, map)) = self.early_maps.get(&method.id).copied() else { return };
        let code = self.latest.get(&method.id).and_then(|index| self.code.get_mut(*index as usize));
        let Some(code) = code.filter(|code| version.fits(code)) else { return };
        self.early_maps.remove(&method.id);
        match code.map {
            None => code.map = Some(map),
            Some(_) => self.maps.remove(map),
        }
    }

    /// The code of a method, new or known; none if there is no room.
    fn add_method(&mut self, method: &jit::Method<'_>, from_ns: u64) -> Option<&mut Code> {
        let flags = method.flags;
        let texts = self.names(method.namespace, method.name, method.signature)?;
        let is_stub = flags.is_helper() || self.texts.get(texts[1]).starts_with("IL_STUB");
        let kind = match () {
            () if is_stub => MethodKind::Stub,
            () if flags.is_dynamic() => MethodKind::Dynamic,
            () if flags.is_jitted() => MethodKind::Jitted,
            () => MethodKind::ReadyToRun,
        };
        self.add(Code {
            start: method.start.0,
            bytes: method.code_bytes,
            id: method.id,
            version: method.rejit.map_or(0, |rejit| rejit.0),
            module: method.module,
            token: method.token,
            tier: flags.tier(),
            kind,
            type_name: texts[0],
            name: texts[1],
            signature: texts[2],
            map: None,
            from_ns,
            until_ns: u64::MAX,
        })
    }

    fn entry_point(&mut self, entry: &jit::ReadyToRunEntryPoint<'_>, from_ns: u64) {
        if self.known.contains_key(&(entry.start.0, entry.id)) {
            return;
        }
        let Some(texts) = self.names(entry.namespace, entry.name, entry.signature) else { return };
        self.add(Code {
            start: entry.start.0,
            bytes: 0,
            id: entry.id,
            version: 0,
            module: ModuleId(0),
            token: MetadataToken(0),
            tier: Tier::Unknown,
            kind: MethodKind::EntryPoint,
            type_name: texts[0],
            name: texts[1],
            signature: texts[2],
            map: None,
            from_ns,
            until_ns: u64::MAX,
        });
    }

    fn names(&mut self, type_name: Utf16<'_>, name: Utf16<'_>, signature: Utf16<'_>) -> Option<[TextId; 3]> {
        let texts = (|| {
            Some([self.texts.intern(type_name)?, self.texts.intern(name)?, self.texts.intern(signature)?])
        })();
        self.dropped += u64::from(texts.is_none());
        texts
    }

    fn add(&mut self, new: Code) -> Option<&mut Code> {
        let key = (new.start, new.id);
        let index = match self.known.get(&key) {
            Some(index) => {
                let old = self.code.get_mut(*index as usize)?;
                let map = old.map.filter(|_| old.version == new.version);
                let from_ns = if new.from_ns == 0 { old.from_ns } else { new.from_ns };
                *old = Code { map, from_ns, until_ns: old.until_ns, ..new };
                *index
            }
            None if self.code.len() >= MAX_CODE => {
                self.dropped += 1;
                return None;
            }
            None => {
                let index = u32::try_from(self.code.len()).ok()?;
                self.code.push(new);
                self.known.insert(key, index);
                index
            }
        };
        self.unsettled = true;
        self.latest.insert(key.1, index);
        self.code.get_mut(index as usize)
    }

    /// While a session runs, the map of a method follows the method.
    fn map_after_its_code(&mut self, map: &IlToNativeMap<'_>) {
        let code = self.latest.get(&map.method).and_then(|index| self.code.get_mut(*index as usize));
        match code.filter(|code| Version::of(map).fits(code)) {
            Some(code) if code.map.is_none() => code.map = self.maps.add(map),
            Some(_) => {}
            None => self.map_before_its_code(map),
        }
    }

    /// In a rundown the map comes first.
    fn map_before_its_code(&mut self, map: &IlToNativeMap<'_>) {
        if self.early_maps.len() >= MAX_CODE {
            return;
        }
        if let Some(kept) = self.maps.add(map) {
            self.early_maps.insert(map.method, (Version::of(map), kept));
        }
    }

    fn add_module(&mut self, module: &loader::Module<'_>) {
        let path = self.path_of(module.path, module.assembly);
        let pdb = module.pdb_signature.filter(|id| !id.is_nil());
        let pdb_path = module.pdb_path.map(|path| path.to_string()).unwrap_or_default();
        self.insert_module(module.id, Module { path, pdb, pdb_path });
    }

    fn add_domain_module(&mut self, module: &loader::DomainModule<'_>) {
        if !self.modules.contains_key(&module.id) {
            let path = self.path_of(module.path, module.assembly);
            self.insert_module(module.id, Module { path, pdb: None, pdb_path: String::new() });
        }
    }

    /// A module without a path is called like its assembly.
    fn path_of(&self, path: Utf16<'_>, assembly: AssemblyId) -> String {
        let path = path.to_string();
        if path.is_empty() { self.assemblies.get(&assembly).cloned().unwrap_or_default() } else { path }
    }

    fn insert_module(&mut self, id: ModuleId, module: Module) {
        if self.modules.len() < MAX_MODULES || self.modules.contains_key(&id) {
            self.modules.insert(id, module);
        } else {
            self.dropped += 1;
        }
    }

    fn add_assembly(&mut self, assembly: &loader::Assembly<'_>) {
        if self.assemblies.len() < MAX_MODULES {
            let name = assembly.name.to_string();
            let short = name.split_once(',').map_or(name.as_str(), |(short, _)| short);
            self.assemblies.insert(assembly.id, short.to_owned());
        }
    }

    /// Makes the map ready for look-ups; to be called again after more was learned.
    pub fn settle(&mut self) {
        if !std::mem::take(&mut self.unsettled) {
            return;
        }
        let count = u32::try_from(self.code.len()).unwrap_or(u32::MAX);
        let code = &self.code;
        let start = |index: &u32| code.get(*index as usize).map_or(0, |code| code.start);
        let (mut entries, mut ordered): (Vec<u32>, Vec<u32>) = (0..count).partition(|index| {
            code.get(*index as usize).is_some_and(|code| code.kind == MethodKind::EntryPoint)
        });
        entries.sort_by_key(start);
        ordered.sort_by_key(start);
        self.entry_points = entries;
        self.by_start = ordered
            .into_iter()
            .scan(0, |furthest, index| {
                *furthest = code.get(index as usize).map_or(*furthest, |code| code.end().max(*furthest));
                Some((index, *furthest))
            })
            .collect();
    }

    /// The frame of the innermost address of a stack; none if no method is known there.
    #[must_use]
    pub fn frame(&self, address: CodeAddress) -> Option<Frame> {
        Some(self.method(address)?.frame())
    }

    /// The frame of any other address of a stack, which is where a call returns to.
    #[must_use]
    pub fn caller_frame(&self, address: CodeAddress) -> Option<Frame> {
        Some(self.method_for(address, Position::Caller)?.frame())
    }

    /// The method whose code is at an address; of several that were there, the one loaded last.
    #[must_use]
    pub fn method(&self, address: CodeAddress) -> Option<MethodRef<'_>> {
        self.method_for(address, Position::Interrupted)
    }

    /// The same for an address that may be the one behind a call, with which a method may end.
    #[must_use]
    pub fn method_for(&self, address: CodeAddress, position: Position) -> Option<MethodRef<'_>> {
        self.find(position.byte(address), |_| true).or_else(|| self.by_entry_point(position.byte(address)))
    }

    /// The method that was at an address at a moment, in nanoseconds of the trace. It needs [`CodeMap::learn_at`].
    #[must_use]
    pub fn method_at(&self, address: CodeAddress, position: Position, at_ns: u64) -> Option<MethodRef<'_>> {
        let there = |code: &Code| code.from_ns <= at_ns && at_ns < code.until_ns;
        self.find(position.byte(address), there).or_else(|| self.method_for(address, position))
    }

    /// The frame at an address at a moment: see [`CodeMap::method_at`].
    #[must_use]
    pub fn frame_at(&self, address: CodeAddress, position: Position, at_ns: u64) -> Option<Frame> {
        Some(self.method_at(address, position, at_ns)?.frame())
    }

    fn find(&self, address: u64, wanted: impl Fn(&Code) -> bool) -> Option<MethodRef<'_>> {
        debug_assert!(!self.unsettled, "settle() comes before look-ups");
        let start = |index: u32| self.code.get(index as usize).map_or(u64::MAX, |code| code.start);
        let behind = self.by_start.partition_point(|(index, _)| start(*index) <= address);
        self.by_start[..behind]
            .iter()
            .rev()
            .take(MAX_OVERLAPS)
            .take_while(|(_, furthest)| address < *furthest)
            .filter_map(|(index, _)| self.get(MethodIndex(*index)))
            .filter(|method| address < method.code.end() && wanted(method.code))
            .max_by_key(|method| (method.code.until_ns == u64::MAX, method.code.from_ns, method.index))
    }

    /// The entry point before an address, if no other code lies between them.
    fn by_entry_point(&self, address: u64) -> Option<MethodRef<'_>> {
        let start = |index: u32| self.code.get(index as usize).map_or(u64::MAX, |code| code.start);
        let behind = self.entry_points.partition_point(|index| start(*index) <= address);
        let entry = self.entry_points[..behind].last().and_then(|index| self.get(MethodIndex(*index)))?;
        let others = self.by_start.partition_point(|(index, _)| start(*index) <= address);
        let nearest = self.by_start[..others].last().map_or(0, |(index, _)| start(*index));
        let reach = entry.code.start.saturating_add(ENTRY_POINT_REACH);
        (nearest < entry.code.start && address < reach).then_some(entry)
    }

    /// A method by its index.
    #[must_use]
    pub fn get(&self, index: MethodIndex) -> Option<MethodRef<'_>> {
        self.code.get(index.0 as usize).map(|code| MethodRef { map: self, code, index })
    }

    /// The code of a method that was told of last, by the runtime's id of the method.
    #[must_use]
    pub fn by_id(&self, id: MethodId) -> Option<MethodRef<'_>> {
        self.latest.get(&id).and_then(|index| self.get(MethodIndex(*index)))
    }

    /// All methods, in the order in which they were told of.
    pub fn methods(&self) -> impl Iterator<Item = MethodRef<'_>> {
        (0..).map_while(|index| self.get(MethodIndex(index)))
    }

    /// The path of a module, as the target sees it; of a module without a file, its name.
    #[must_use]
    pub fn module_path(&self, id: ModuleId) -> Option<&str> {
        self.module(id).map(|module| module.path.as_str())
    }

    /// How much is known.
    #[must_use]
    pub fn naming(&self) -> Naming {
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        Naming {
            methods: count(self.code.len()),
            with_il_map: count(self.code.iter().filter(|code| code.map.is_some()).count()),
            modules: count(self.modules.len()),
            dropped: self.dropped.saturating_add(self.maps.dropped()),
        }
    }

    pub(crate) fn module(&self, id: ModuleId) -> Option<&Module> {
        self.modules.get(&id).filter(|module| !module.path.is_empty())
    }

    pub(crate) fn text(&self, id: TextId) -> &str {
        self.texts.get(id)
    }

    pub(crate) fn il_at(&self, map: IlMap, native: u32) -> Option<u32> {
        self.maps.il_at(map, native)
    }
}

impl Position {
    /// The byte that tells what ran.
    fn byte(self, address: CodeAddress) -> u64 {
        match self {
            Position::Interrupted => address.0,
            Position::Caller => address.0.saturating_sub(1),
        }
    }
}
