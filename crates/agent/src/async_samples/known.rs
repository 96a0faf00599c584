//! What is known of a runtime's types: which are boxes of async methods, and how to get from an object to what awaits it.
//!
//! Names are read while the program runs, so a type that is met for the first time is known one sample later. Kept during a
//! visit: at most [`MOST_KINDS`] kinds, and [`MOST_METHODS`] methods and [`MOST_TYPES`] types that were told, under 2 MB.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use agent_wire::{ChainEnd, LONGEST_CHAIN};
use clr_profiling::{
    ClassId, ClassInfo, FieldOffset, FunctionId, FunctionInfo, Info, ModuleId, PlacedFrame, Suspended, Token,
};

use crate::answers::full_name;
use crate::memory::{word, words};

/// Of the first word of an object: the collector's bits.
pub(super) const MARKS: u64 = 7;
/// Where a type points to its parent, and to its module. Both are tried out before they are used.
const PARENT: u64 = 0x10;
const MODULE: u64 = 0x18;
/// Where an array has its number of elements, and its first.
const LENGTH: u64 = 8;
const ELEMENTS: u64 = 16;
/// Most elements of a list that are looked at.
const MOST_ELEMENTS: u64 = 8;
/// How many types a type extends, at most.
const DEEPEST_TYPE: usize = 12;
/// Most fields of a type of the framework that we look into.
const MOST_FIELDS: usize = 64;
const MOST_KINDS: usize = 4096;
const MOST_METHODS: usize = 16 * 1024;
const MOST_TYPES: usize = 8 * 1024;
/// Most that is met for the first time in one sample.
const MOST_NEW: usize = 4096;

/// Types of the framework that we understand, and the field that leads on.
const SHAPES: [(&str, &str, Shape); 8] = [
    ("System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1", "", Shape::Box),
    ("System.Threading.Tasks.Task", "m_continuationObject", Shape::Object),
    ("System.Delegate", "_target", Shape::Object),
    ("System.Threading.Tasks.AwaitTaskContinuation", "m_action", Shape::Object),
    ("System.Threading.Tasks.StandardTaskContinuation", "m_task", Shape::Object),
    ("System.Threading.Tasks.ContinueWithTaskContinuation", "m_task", Shape::Object),
    (
        "System.Runtime.CompilerServices.AsyncMethodBuilderCore+ContinuationWrapper",
        "_continuation",
        Shape::Object,
    ),
    ("System.Collections.Generic.List`1", "_items", Shape::List),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// The object of an async method that has been suspended once.
    Box,
    /// One object leads on.
    Object,
    /// An array of objects does.
    List,
}

type Row = (ModuleId, Token);

/// What a type is.
#[derive(Clone, Copy, Debug, Default)]
struct Kind {
    shape: Option<Shape>,
    /// Where the field is that leads on.
    next: Option<u32>,
}

/// What is known during a visit.
#[derive(Default)]
pub(crate) struct Memory(Mutex<Known>);

impl Memory {
    pub(super) fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A method that the host does not know yet.
pub(super) struct MethodToTell {
    pub(super) id: FunctionId,
    pub(super) info: FunctionInfo,
    pub(super) file: String,
    stays: bool,
}

/// A type that the host does not know yet.
pub(super) struct TypeToTell {
    pub(super) id: u64,
    pub(super) token: Token,
    pub(super) file: String,
    module: ModuleId,
    stays: bool,
}

impl MethodToTell {
    /// The names of its type and of itself; none in a module that may be gone by now.
    pub(super) fn names(&self, info: &Info) -> (String, String) {
        if !self.stays {
            return Default::default();
        }
        let found = info.metadata(self.info.module).ok().and_then(|metadata| {
            let (class, name) = metadata.method(self.info.token).ok()?;
            Some((full_name(&metadata, class)?, name))
        });
        found.unwrap_or_default()
    }
}

impl TypeToTell {
    /// Its name; none in a module that may be gone by now.
    pub(super) fn name(&self, info: &Info) -> String {
        let metadata = self.stays.then(|| info.metadata(self.module).ok()).flatten();
        metadata.and_then(|metadata| full_name(&metadata, self.token)).unwrap_or_default()
    }
}

#[derive(Default)]
pub(super) struct Known {
    kinds: HashMap<Row, Kind>,
    /// Met in this sample, to be named after it, with their fields.
    unnamed: Vec<(Row, Vec<FieldOffset>)>,
    /// Whether methods belong to boxes; a hint, which is checked again.
    methods: HashMap<FunctionId, bool>,
    told_methods: HashSet<FunctionId>,
    new_methods: Vec<FunctionId>,
    told_types: HashSet<u64>,
    new_types: Vec<u64>,
    methods_to_tell: Vec<MethodToTell>,
    types_to_tell: Vec<TypeToTell>,
    modules: HashMap<ModuleId, (String, bool)>,
    /// The root of all types, and its module.
    root: Option<(ClassId, ModuleId)>,
    /// What the memory of a module begins with, if that is the same for all.
    module_mark: Option<u64>,
}

impl Known {
    /// Before a suspension.
    pub(super) fn make_room(&mut self) {
        self.unnamed.reserve(MOST_NEW);
        self.new_methods.reserve(MOST_NEW);
        self.new_types.reserve(MOST_NEW);
        self.methods.reserve(MOST_NEW);
        if self.methods.len() > MOST_METHODS {
            self.methods.clear();
        }
        if self.told_methods.len() > MOST_METHODS || self.told_types.len() > MOST_TYPES {
            self.told_methods.clear();
            self.told_types.clear();
        }
    }

    /// A method is on a stack.
    pub(super) fn see_method(&mut self, method: FunctionId) {
        if self.new_methods.len() < MOST_NEW && self.told_methods.insert(method) {
            self.new_methods.push(method);
        }
    }

    /// If a frame is the one that resumes an async method: the type of the method's object, as far as the frame tells.
    pub(super) fn resumes(&mut self, suspended: &Suspended<'_>, placed: &PlacedFrame<'_>) -> Option<ClassId> {
        let method = placed.frame.function;
        if self.methods.get(&method) == Some(&false) {
            return None;
        }
        let class = placed.class().ok().filter(|class| *class != ClassId(0));
        let Some((class, described)) = class.and_then(|class| Some((class, suspended.class(class).ok()?)))
        else {
            self.methods.insert(method, false);
            return None;
        };
        let (_, core) = self.root(suspended, class)?;
        if described.module != core {
            self.methods.insert(method, false);
            return None;
        }
        let kind = self.kind(suspended, class, &described)?;
        let is_box = kind.shape == Some(Shape::Box);
        self.methods.insert(method, is_box);
        is_box.then_some(class)
    }

    /// The root of all types, above a type that the runtime has named.
    fn root(&mut self, suspended: &Suspended<'_>, class: ClassId) -> Option<(ClassId, ModuleId)> {
        if self.root.is_some() {
            return self.root;
        }
        let mut at = class;
        for _ in 0..DEEPEST_TYPE {
            let described = suspended.class(at).ok()?;
            if described.parent == ClassId(0) {
                self.root = Some((at, described.module));
                self.module_mark = word(described.module.0 as u64);
                return self.root;
            }
            at = described.parent;
        }
        None
    }

    /// What a type of the framework is; none until its name is known.
    fn kind(&mut self, suspended: &Suspended<'_>, class: ClassId, described: &ClassInfo) -> Option<Kind> {
        let row = (described.module, described.token);
        if let Some(kind) = self.kinds.get(&row) {
            return Some(*kind);
        }
        if self.unnamed.len() < MOST_NEW && self.unnamed.iter().all(|(known, _)| *known != row) {
            let mut room = [FieldOffset::default(); MOST_FIELDS];
            let count = suspended.layout(class, &mut room).unwrap_or(0);
            self.unnamed.push((row, room.get(..count).unwrap_or_default().to_vec()));
        }
        None
    }

    /// Whether this is the address of a type: its parents, read with care, lead to the root, and its module is one.
    fn is_type(&self, class: u64) -> bool {
        let Some((root, core)) = self.root else { return false };
        if class <= 0xFFFF || class.trailing_zeros() < 3 {
            return false;
        }
        let module = word(class.wrapping_add(MODULE)).unwrap_or(0);
        let is_module = module == core.0 as u64
            || self.modules.contains_key(&ModuleId(usize::try_from(module).unwrap_or(0)))
            || (self.module_mark.is_some() && word(module) == self.module_mark);
        let mut at = class;
        for _ in 0..DEEPEST_TYPE {
            if at == root.0 as u64 {
                return is_module;
            }
            match word(at.wrapping_add(PARENT)) {
                Some(parent) if parent > 0xFFFF && parent.trailing_zeros() >= 3 => at = parent,
                _ => return false,
            }
        }
        false
    }

    /// Whether objects of a type run the methods of a box: it is the one that the frame told, or one that differs from it
    /// in what the method returns, which a frame does not always tell.
    pub(super) fn is_box_of(&self, suspended: &Suspended<'_>, class: u64, told: ClassId) -> bool {
        if class == told.0 as u64 {
            return true;
        }
        if !self.is_type(class) {
            return false;
        }
        let class = ClassId(usize::try_from(class).unwrap_or(0));
        let same_row = match (suspended.class(class), suspended.class(told)) {
            (Ok(one), Ok(other)) => (one.module, one.token) == (other.module, other.token),
            _ => false,
        };
        same_row && suspended.last_argument(class) == suspended.last_argument(told)
    }

    /// Whether a type is that of the objects of an async method.
    pub(super) fn is_box(&mut self, suspended: &Suspended<'_>, class: ClassId) -> bool {
        let is_named_so = |described: &ClassInfo| {
            let kind = self.kinds.get(&(described.module, described.token));
            kind.is_some_and(|kind| kind.shape == Some(Shape::Box))
        };
        let Ok(described) = suspended.class(class) else { return false };
        if Some(described.module) != self.root.map(|(_, core)| core)
            || suspended.last_argument(class).is_none()
        {
            return false;
        }
        // A debugger's kind of box extends the usual one.
        let is_box = is_named_so(&described)
            || suspended.class(described.parent).is_ok_and(|parent| is_named_so(&parent));
        if !is_box && !self.kinds.contains_key(&(described.module, described.token)) {
            // It may be one whose name is not known yet.
            self.way_on(suspended, class.0 as u64);
        }
        is_box
    }

    /// Whether an async method is over: its task says so with a plain object in place of what awaits it.
    pub(super) fn is_finished(&mut self, suspended: &Suspended<'_>, (object, class): (u64, u64)) -> bool {
        let next =
            self.way_on(suspended, class).and_then(|(_, _, offset)| word(object.wrapping_add(offset.into())));
        let class = next.filter(|next| *next != 0).and_then(word).map(|class| class & !MARKS);
        class.is_some() && class == self.root.map(|(root, _)| root.0 as u64)
    }

    /// From an object to what awaits it, and on. Boxes and tasks become links.
    pub(super) fn follow(
        &mut self,
        suspended: &Suspended<'_>,
        (mut object, mut class): (u64, u64),
        links: &mut Vec<u64>,
    ) -> ChainEnd {
        for _ in 0..LONGEST_CHAIN {
            let Some((is_link, shape, offset)) = self.way_on(suspended, class) else {
                return ChainEnd::Unknown;
            };
            if is_link {
                links.push(class);
                if self.new_types.len() < MOST_NEW && self.told_types.insert(class) {
                    self.new_types.push(class);
                }
            }
            let next = word(object.wrapping_add(offset.into()));
            let next = if shape == Shape::List { next.and_then(first_element) } else { next };
            let Some(next) = next else { return ChainEnd::Unknown };
            if next == 0 {
                return ChainEnd::Nobody;
            }
            let Some(found) = word(next).map(|found| found & !MARKS) else { return ChainEnd::Unknown };
            // A task that has ended says so with a plain object.
            if self.root.is_some_and(|(root, _)| root.0 as u64 == found) {
                return ChainEnd::Nobody;
            }
            if !self.is_type(found) {
                return ChainEnd::Unknown;
            }
            (object, class) = (next, found);
        }
        ChainEnd::Cut
    }

    /// Whether objects of a type are links, and where they lead on.
    fn way_on(&mut self, suspended: &Suspended<'_>, class: u64) -> Option<(bool, Shape, u32)> {
        let mut at = ClassId(usize::try_from(class).ok()?);
        let (mut is_box, mut is_known) = (false, true);
        for _ in 0..DEEPEST_TYPE {
            let described = suspended.class(at).ok()?;
            let core = self.root?.1;
            if described.module == core {
                // All that are new are to be named, so that they are known together.
                let kind = self.kind(suspended, at, &described);
                is_known &= kind.is_some();
                let kind = kind.unwrap_or_default();
                is_box |= kind.shape == Some(Shape::Box);
                if let (Some(shape), Some(next)) = (kind.shape, kind.next) {
                    return is_known.then_some((is_box, shape, next));
                }
            }
            at = described.parent;
            if at == ClassId(0) {
                return None;
            }
        }
        None
    }

    /// At the end of a suspension, while all ids are good: where what is new comes from.
    pub(super) fn look_up(&mut self, suspended: &Suspended<'_>, info: &Info) {
        for id in std::mem::take(&mut self.new_methods) {
            let found = info.function(id).unwrap_or_default();
            let (file, stays) = self.module(info, found.module);
            if !stays {
                // Its id may be another method's the next time.
                self.told_methods.remove(&id);
            }
            self.methods_to_tell.push(MethodToTell { id, info: found, file, stays });
        }
        for id in std::mem::take(&mut self.new_types) {
            let class = ClassId(usize::try_from(id).unwrap_or(0));
            // Of a box, its last type argument is the state machine.
            let shown = suspended.last_argument(class).unwrap_or(class);
            let described = suspended.class(shown).unwrap_or_default();
            let (file, stays) = self.module(info, described.module);
            if !stays {
                self.told_types.remove(&id);
            }
            let (token, module) = (described.token, described.module);
            self.types_to_tell.push(TypeToTell { id, token, file, module, stays });
        }
    }

    fn module(&mut self, info: &Info, module: ModuleId) -> (String, bool) {
        if module == ModuleId(0) {
            return (String::new(), false);
        }
        if let Some(known) = self.modules.get(&module) {
            return known.clone();
        }
        let described = info.module(module).unwrap_or_default();
        let found = (described.name, !described.collectible);
        if found.1 {
            self.modules.insert(module, found.clone());
            // What all modules begin with proves one that has not been met; if they differ it proves nothing.
            if word(module.0 as u64) != self.module_mark {
                self.module_mark = None;
            }
        }
        found
    }

    /// After the suspension: names of types that were met for the first time. They are the framework's, which stays.
    pub(super) fn learn(&mut self, info: &Info) {
        let unnamed = std::mem::take(&mut self.unnamed);
        let Some((_, core)) = self.root else { return };
        let Ok(metadata) = info.metadata(core) else { return };
        for ((module, token), fields) in unnamed {
            if self.kinds.len() >= MOST_KINDS {
                return;
            }
            let name = full_name(&metadata, token).unwrap_or_default();
            let shape = SHAPES.iter().find(|(known, _, _)| *known == name);
            let kind = shape.map_or(Kind::default(), |(_, wanted, shape)| {
                let is_wanted = |field: &&FieldOffset| {
                    metadata.field(field.token).is_ok_and(|(name, _)| !name.is_empty() && name == *wanted)
                };
                Kind { shape: Some(*shape), next: fields.iter().find(is_wanted).map(|field| field.offset) }
            });
            self.kinds.insert((module, token), kind);
        }
    }

    /// What the host does not know yet.
    pub(super) fn news(&mut self) -> (Vec<MethodToTell>, Vec<TypeToTell>) {
        (std::mem::take(&mut self.methods_to_tell), std::mem::take(&mut self.types_to_tell))
    }
}

/// The first element of an array that is there.
fn first_element(array: u64) -> Option<u64> {
    let length = word(array.wrapping_add(LENGTH))? & u64::from(u32::MAX);
    let elements = (0..length.min(MOST_ELEMENTS)).map(|index| array.wrapping_add(ELEMENTS + 8 * index));
    let found = elements.filter_map(words::<1>).map(|[element]| element).find(|element| *element != 0);
    Some(found.unwrap_or(0))
}
