//! The events of one collection, gathered into a graph.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use event_session::{Observer, Seen};
use heap_graph::{Address, Generation, GraphBuilder, HeapGraph, RootKind, TypeId};
use runtime_events::{GcNumber, RuntimeEvent, heap, loader};

use crate::collected::Pause;
use crate::error::{Error, Missing};
use crate::nested::{self, ToldType};
use crate::owners::{Assemblies, Told, owners};
use crate::type_name::readable;

/// What compilers call the field of a class of lambdas that holds its one object.
const LAMBDAS: &str = "<>9";

/// What the thread that waits may know.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) objects: AtomicU64,
    pub(crate) complete: AtomicBool,
    /// The user has gone: what comes is passed over.
    pub(crate) discard: AtomicBool,
}

/// A static field, whose type may be named later.
struct Static {
    type_handle: u64,
    field: String,
    target: u64,
    thread_local: bool,
}

/// The next part of a list that is due.
#[derive(Default)]
struct Parts {
    next: u32,
    missing: u64,
}

impl Parts {
    fn see(&mut self, index: u32) {
        self.missing += u64::from(index.abs_diff(self.next));
        self.next = index.wrapping_add(1);
    }
}

#[derive(Default)]
struct PauseMarks {
    suspend: Option<u64>,
    first_object: Option<u64>,
    last_object: Option<u64>,
    restart: Option<u64>,
}

/// Sees the events of the session.
pub(crate) struct Snapshot {
    progress: Arc<Progress>,
    builder: GraphBuilder,
    failed: Option<heap_graph::Error>,
    objects: u64,
    /// The full blocking collection that runs now.
    running: Option<GcNumber>,
    nodes: Parts,
    edges: Parts,
    roots: Parts,
    dependent: Parts,
    statics: Vec<Static>,
    types: HashMap<u64, ToldType>,
    modules: HashMap<u64, String>,
    marks: PauseMarks,
    generations: Vec<heap::GenerationRange>,
    /// Whether these ranges are those of the end: they are told at the start of a collection, too.
    generations_of_end: bool,
}

impl Snapshot {
    pub(crate) fn new(progress: Arc<Progress>) -> Snapshot {
        Snapshot {
            progress,
            builder: GraphBuilder::new(),
            failed: None,
            objects: 0,
            running: None,
            nodes: Parts::default(),
            edges: Parts::default(),
            roots: Parts::default(),
            dependent: Parts::default(),
            statics: Vec::new(),
            types: HashMap::new(),
            modules: HashMap::new(),
            marks: PauseMarks::default(),
            generations: Vec::new(),
            generations_of_end: false,
        }
    }

    fn is_complete(&self) -> bool {
        self.progress.complete.load(Ordering::Relaxed)
    }

    fn add(&mut self, outcome: Result<(), heap_graph::Error>) {
        if let (None, Err(error)) = (&self.failed, outcome) {
            self.failed = Some(error);
        }
    }

    fn nodes(&mut self, at_ns: u64, nodes: &heap::Nodes<'_>) -> Result<(), heap_graph::Error> {
        self.nodes.see(nodes.index);
        self.marks.first_object.get_or_insert(at_ns);
        self.marks.last_object = Some(at_ns);
        for node in nodes.iter() {
            let its_type = self.builder.type_of_handle(node.type_id.0);
            let edges = u32::try_from(node.edges)
                .map_err(|_| heap_graph::Error::TooManyReferences { limit: u32::MAX })?;
            self.builder.object(Address(node.address.0), its_type, occupied(node.bytes), edges)?;
            self.objects += 1;
        }
        self.progress.objects.store(self.objects, Ordering::Relaxed);
        Ok(())
    }

    fn edges(&mut self, edges: &heap::Edges<'_>) -> Result<(), heap_graph::Error> {
        self.edges.see(edges.index);
        edges.iter().try_for_each(|edge| self.builder.reference(Address(edge.target.0)))
    }

    fn roots(&mut self, roots: &heap::Roots<'_>) -> Result<(), heap_graph::Error> {
        self.roots.see(roots.index);
        for root in roots.iter() {
            let Some(kind) = kind_of(root.kind, root.flags) else { continue };
            let target = Address(root.target.0);
            if target.0 == 0 {
                continue;
            }
            if root.flags.is_interior() {
                self.builder.interior_root(kind, None, target)?;
            } else {
                self.builder.root(kind, None, target)?;
            }
        }
        Ok(())
    }

    fn dependent(&mut self, roots: &heap::DependentRoots<'_>) {
        self.dependent.see(roots.index);
        for root in roots.iter().filter(|root| root.key.0 != 0 && root.value.0 != 0) {
            self.builder.dependent_handle(Address(root.key.0), Address(root.value.0));
        }
    }

    fn statics(&mut self, roots: &heap::StaticRoots<'_>) {
        self.statics.extend(roots.iter().filter(|root| root.target.0 != 0).map(|root| Static {
            type_handle: root.type_id.0,
            field: root.field.to_string(),
            target: root.target.0,
            thread_local: root.flags.is_thread_local(),
        }));
    }

    fn generation(&mut self, range: &heap::GenerationRange) {
        if self.objects > 0 && !self.generations_of_end {
            self.generations_of_end = true;
            self.generations.clear();
        }
        self.generations.push(*range);
    }

    fn heap_event(&mut self, at_ns: u64, event: &RuntimeEvent<'_>) {
        let outcome = match event {
            RuntimeEvent::Nodes(nodes) => self.nodes(at_ns, nodes),
            RuntimeEvent::Edges(edges) => self.edges(edges),
            RuntimeEvent::Roots(roots) => self.roots(roots),
            RuntimeEvent::DependentRoots(roots) => {
                self.dependent(roots);
                Ok(())
            }
            RuntimeEvent::StaticRoots(roots) => {
                self.statics(roots);
                Ok(())
            }
            _ => Ok(()),
        };
        self.add(outcome);
    }

    /// The files of modules, from elsewhere.
    pub(crate) fn know_modules(&mut self, modules: HashMap<u64, String>) {
        self.modules.extend(modules);
    }

    fn module(&mut self, module: &loader::Module<'_>) {
        self.modules.insert(module.id.0, module.path.to_string());
    }

    /// What is missing, apart from what the stream itself knows.
    pub(crate) fn missing(&self) -> Missing {
        Missing {
            node_events: self.nodes.missing,
            edge_events: self.edges.missing,
            root_events: self.roots.missing + self.dependent.missing,
            end: !self.is_complete(),
            ..Missing::default()
        }
    }

    pub(crate) fn has_objects(&self) -> bool {
        self.objects > 0
    }

    pub(crate) fn pause(&self) -> Option<Pause> {
        let (suspend, restart) = (self.marks.suspend?, self.marks.restart?);
        let between = |from: u64, to: u64| Duration::from_nanos(to.saturating_sub(from));
        let first = self.marks.first_object.unwrap_or(restart);
        let last = self.marks.last_object.unwrap_or(first);
        Some(Pause {
            total: between(suspend, restart),
            collecting: between(suspend, first),
            telling: between(first, last),
        })
    }

    fn owners(&self, assemblies: &dyn Assemblies) -> Vec<Option<String>> {
        let type_name = |handle: u64| self.types.get(&handle).map_or("", |told| told.name.as_str());
        let told: Vec<Told<'_>> = self
            .statics
            .iter()
            .map(|root| Told { field: &root.field, object_type: type_name(root.type_handle) })
            .collect();
        owners(&told, self.modules.values().map(String::as_str), assemblies)
    }

    /// The runtime's handles of the types that have come.
    pub(crate) fn handles(&self) -> HashMap<TypeId, u64> {
        self.builder.handles().map(|(handle, id)| (id, handle)).collect()
    }

    /// The graph, and the number of types without a name.
    pub(crate) fn graph(mut self, assemblies: &dyn Assemblies) -> Result<(HeapGraph, u64), Error> {
        if let Some(error) = self.failed {
            return Err(error.into());
        }
        let owners = self.owners(assemblies);
        nested::complete(&mut self.types, &self.modules, assemblies);
        for (handle, told) in &self.types {
            let module = self.modules.get(&told.module).map(String::as_str);
            self.builder.name_type(*handle, &readable(&told.name), module);
        }
        for range in &self.generations {
            let end = range.start.0.saturating_add(range.used_bytes);
            if let Some(generation) = Generation::from_number(range.generation.0) {
                self.builder.generation_range(Address(range.start.0), Address(end), generation);
            }
        }
        for (root, owner) in self.statics.iter().zip(owners) {
            let kind = if root.thread_local { RootKind::ThreadStaticField } else { RootKind::StaticField };
            let name = match (owner, self.types.get(&root.type_handle)) {
                // Lambdas without variables: the one object of their class, which a field of the class itself holds.
                (_, Some(told)) if root.field == LAMBDAS => format!("{}.{LAMBDAS}", readable(&told.name)),
                (Some(owner), _) => format!("{}.{}", readable(&owner), root.field),
                (None, Some(told)) => format!("{}: {}", root.field, readable(&told.name)),
                (None, None) => root.field.clone(),
            };
            self.builder.root(kind, Some(&name), Address(root.target))?;
        }
        let graph = self.builder.finish()?;
        let mut used = vec![false; graph.types().len()];
        graph.nodes().for_each(|node| used[graph.type_of(node).index()] = true);
        let unnamed = graph.types().filter(|(id, info)| used[id.index()] && info.name.starts_with("Type(0x"));
        let unnamed = unnamed.count() as u64;
        Ok((graph, unnamed))
    }
}

impl Snapshot {
    /// The next event, and when it came.
    pub(crate) fn see(&mut self, at_ns: u64, event: &RuntimeEvent<'_>) {
        if self.progress.discard.load(Ordering::Relaxed) {
            return;
        }
        match event {
            RuntimeEvent::ModuleRundown(module) | RuntimeEvent::ModuleLoad(module) => self.module(module),
            RuntimeEvent::Types(types) => {
                for found in types.iter() {
                    self.types.entry(found.id.0).or_insert_with(|| ToldType {
                        module: found.module.0,
                        token: found.token.0,
                        name: found.name.to_string(),
                        element: found.parameters().next().filter(|_| found.flags.is_array()).map(|id| id.0),
                    });
                }
            }
            RuntimeEvent::RestartEnd(_) if self.is_complete() => {
                self.marks.restart.get_or_insert(at_ns);
            }
            // The last ones come after the end of the collection, while all threads still stand.
            RuntimeEvent::GenerationRange(range) if self.marks.restart.is_none() => self.generation(range),
            _ if self.is_complete() => {}
            RuntimeEvent::SuspendBegin(_) => self.marks.suspend = Some(at_ns),
            RuntimeEvent::GcStart(gc) => {
                self.running = Some(gc.number);
                self.generations.clear();
            }
            RuntimeEvent::GcEnd(gc) => {
                if self.running == Some(gc.number) && self.objects > 0 {
                    self.progress.complete.store(true, Ordering::Release);
                }
            }
            other => self.heap_event(at_ns, other),
        }
    }
}

impl Observer for Snapshot {
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>) {
        self.see(seen.at_ns, event);
    }
}

/// The bytes that an object takes on the heap. The runtime tells what it fills: the next one begins at a multiple of 8.
pub(crate) fn occupied(told: u64) -> u64 {
    told.checked_next_multiple_of(8).unwrap_or(told)
}

/// The kind of a root, unless it keeps nothing alive.
fn kind_of(kind: heap::RootKind, flags: heap::RootFlags) -> Option<RootKind> {
    let code = match kind {
        heap::RootKind::Stack => 0,
        heap::RootKind::Finalizer => 1,
        heap::RootKind::Handle => 2,
        heap::RootKind::Older => 3,
        heap::RootKind::SizedHandle => 4,
        _ => 5,
    };
    RootKind::from_event(code, flags.0)
}
