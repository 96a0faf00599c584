//! Which method an address belongs to.

mod look_up;

use std::collections::HashMap;

use nettrace::Utf16;
use runtime_events::jit::{self, IlToNativeMap, Tier};
use runtime_events::{AssemblyId, MetadataToken, MethodId, ModuleId, RuntimeEvent, loader};

use look_up::Settled;

use crate::il_maps::{IlMap, IlMaps};
use crate::method::{Code, KnownMethod, MethodKind, Module};
use crate::text::{TextId, TextTable};

/// So many pieces of code are kept, whatever a target sends.
const MAX_CODE: usize = 4 << 20;

/// So many modules and assemblies are kept.
const MAX_MODULES: usize = 64 << 10;

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
#[derive(Clone, Default)]
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
    /// Ordered by start.
    by_start: Vec<Settled>,
    /// Entry points, ordered by start.
    entry_points: Vec<Settled>,
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

    /// Takes in a method that is known from elsewhere than the runtime's events.
    pub fn learn_known(&mut self, method: &KnownMethod<'_>) {
        let texts = self.texts.intern_all([method.type_name, method.name, method.signature]);
        let Some([type_name, name, signature]) = texts else {
            self.dropped += 1;
            return;
        };
        if !method.module_path.is_empty() && !self.modules.contains_key(&method.module) {
            let path = method.module_path.to_owned();
            self.insert_module(method.module, Module { path, pdb: None, pdb_path: String::new() });
        }
        self.add(Code {
            start: method.start.0,
            bytes: method.code_bytes,
            id: method.id,
            version: 0,
            module: method.module,
            token: method.token,
            tier: Tier::Unknown,
            kind: method.kind,
            type_name,
            name,
            signature,
            map: None,
            from_ns: 0,
            until_ns: u64::MAX,
        });
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
        // A dynamic method may get place and id of one that is gone.
        let is_other = |old: &Code| {
            new.from_ns > 0
                && old.until_ns <= new.from_ns
                && (old.type_name, old.name) != (new.type_name, new.name)
        };
        let known =
            self.known.get(&key).filter(|index| !self.code.get(**index as usize).is_some_and(is_other));
        let index = match known {
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
}
