//! From copies to named roots.

use std::collections::{HashMap, HashSet};

use heap_graph::{Address, GraphBuilder, RootKind, readable};
use runtime_memory::Memory;

use crate::handles::HandleKind;
use crate::memory::{Code, GcMemory};
use crate::raw::RawRoots;
use crate::stacks::{Frame, RawStack};
use crate::statics::{self, Place};

/// What was told to a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Handles that hold objects.
    pub handles: u64,
    /// Dependent handles with a key and a value.
    pub dependent: u64,
    /// Static fields that hold objects.
    pub statics: u64,
    /// Static fields of threads, each for one thread.
    pub thread_statics: u64,
    /// Objects that wait for their finalizer.
    pub ready_for_finalizer: u64,
    /// Words on stacks that look like references.
    pub locals: u64,
    /// Sentences on what is missing.
    pub missing: Vec<String>,
}

impl<M: Memory> GcMemory<M> {
    /// Gives a builder the roots, with their names, and the ranges of the generations. The types that the builder
    /// knows help to find static fields of generic types.
    ///
    /// It reads names in the memory of the process, which may run again, and may take a second.
    pub fn tell(&mut self, raw: &RawRoots, builder: &mut GraphBuilder) -> Result<Told, heap_graph::Error> {
        let mut told = Told { missing: raw.missing(), ..Told::default() };
        for range in raw.heap.ranges.iter().filter(|range| range.start < range.end) {
            builder.generation_range(Address(range.start), Address(range.end), range.generation);
        }
        tell_handles(raw, builder, &mut told)?;
        for &object in raw.finalizer.iter().flat_map(|queue| &queue.ready) {
            builder.root(RootKind::Finalizer, None, Address(object))?;
            told.ready_for_finalizer += 1;
        }
        self.tell_statics(raw, builder, &mut told)?;
        self.tell_stacks(raw, builder, &mut told)?;
        Ok(told)
    }

    fn tell_statics(
        &mut self,
        raw: &RawRoots,
        builder: &mut GraphBuilder,
        told: &mut Told,
    ) -> Result<(), heap_graph::Error> {
        for thread in &raw.tables.of_threads {
            let name = self.thread_name(thread.os_id);
            let name = format!("{name}, thread statics");
            builder.root(RootKind::ThreadStaticField, Some(&name), Address(thread.outer.object))?;
        }
        let Some(Code { runtime, modules, .. }) = &mut self.code else {
            told.missing
                .push("static fields have no names: this runtime does not describe itself".to_owned());
            return Ok(());
        };
        runtime.look_anew();
        let mut types: HashSet<u64> = builder.handles().map(|(handle, _)| handle).collect();
        match modules {
            Some(modules) => types.extend(modules.types(runtime.memory())),
            None => told.missing.push(
                "the list of assemblies was not found: static fields of types without objects have no names"
                    .to_owned(),
            ),
        }
        let mut types: Vec<u64> = types.into_iter().collect();
        types.sort_unstable();
        let mut threads = Vec::new();
        for method_table in types {
            let Some(fields) = statics::of_type(runtime, method_table).filter(|fields| !fields.is_empty())
            else {
                continue;
            };
            let Some(owner) = runtime.type_name(method_table) else { continue };
            for field in fields {
                let name = format!("{}.{}", readable(&owner), field.name);
                match field.place {
                    Place::Shared(at) => {
                        let Some(object) = raw.tables.slot(at).filter(|object| *object != 0) else {
                            continue;
                        };
                        builder.root(RootKind::StaticField, Some(&name), Address(object))?;
                        told.statics += 1;
                    }
                    Place::OfThread { array, offset } => threads.push((name, array, offset)),
                }
            }
        }
        for (name, array, offset) in threads {
            for thread in &raw.tables.of_threads {
                let tables = thread.inner.iter().filter(|(index, _)| *index == array);
                let slots = tables.filter_map(|(_, table)| table.at(table.object.checked_add(offset)?));
                for object in slots.filter(|object| *object != 0) {
                    builder.root(RootKind::ThreadStaticField, Some(&name), Address(object))?;
                    told.thread_statics += 1;
                }
            }
        }
        Ok(())
    }

    fn tell_stacks(
        &mut self,
        raw: &RawRoots,
        builder: &mut GraphBuilder,
        told: &mut Told,
    ) -> Result<(), heap_graph::Error> {
        let mut methods: HashMap<u64, Option<String>> = HashMap::new();
        for stack in &raw.stacks.found {
            let thread = self.thread_name(stack.os_id);
            let with_frames = stack.frames.is_empty().then(|| self.with_frames(stack));
            let stack = with_frames.as_ref().unwrap_or(stack);
            for (frame, object) in stack.references(&raw.heap) {
                let method = frame.and_then(|frame| {
                    methods.entry(frame.ip).or_insert_with(|| self.method_name(frame.ip)).as_deref()
                });
                let name = match method {
                    Some(method) => format!("{thread}, {method}"),
                    None => thread.clone(),
                };
                builder.possible_root(RootKind::Local, Some(&name), Address(object))?;
                told.locals += 1;
            }
        }
        Ok(())
    }

    /// A stack whose frames nobody walked: what looks like an address behind a call in a method stands for a frame.
    fn with_frames(&mut self, stack: &RawStack) -> RawStack {
        let mut stack = stack.clone();
        let Some(code) = &mut self.code else { return stack };
        stack.frames = stack
            .words()
            .filter_map(|(place, word)| {
                code.runtime
                    .has_method(word.checked_sub(1)?)
                    .then_some(Frame { ip: word, sp: place.checked_add(8)? })
            })
            .collect();
        stack
    }

    /// The method that a frame is in. Most frames are behind a call.
    fn method_name(&mut self, ip: u64) -> Option<String> {
        let runtime = &mut self.code.as_mut()?.runtime;
        let method = runtime.method_at(ip.checked_sub(1)?).or_else(|| runtime.method_at(ip))?;
        Some(method.human_name())
    }
}

fn tell_handles(
    raw: &RawRoots,
    builder: &mut GraphBuilder,
    told: &mut Told,
) -> Result<(), heap_graph::Error> {
    for handle in raw.handles.found.iter().filter(|handle| !handle.kind.is_weak()) {
        let kind = match handle.kind {
            HandleKind::Dependent => {
                if handle.dependent != 0 {
                    builder.dependent_handle(Address(handle.object), Address(handle.dependent));
                    told.dependent += 1;
                }
                continue;
            }
            HandleKind::Pinned | HandleKind::AsyncPinned => RootKind::PinnedHandle,
            HandleKind::RefCounted => RootKind::RefCounted,
            HandleKind::SizedRef => RootKind::SizedRefHandle,
            _ => RootKind::StrongHandle,
        };
        builder.root(kind, None, Address(handle.object))?;
        told.handles += 1;
    }
    Ok(())
}
