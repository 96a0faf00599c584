//! Names for what timers do.

use std::collections::{BTreeMap, HashMap};

use discovery::DotnetProcess;
use model::{Frame, FrameKind};
use nettrace::CodeAddress;
use symbols::{human_name, module_name, readable_type};
use task_graph::{TypeId, Types, machine_of};

use super::heap::{Call, Timers, What, is_framework};
use super::judge::{Group, Kind};
use crate::inside::AllCode;
use crate::naming::Naming;

/// Names timers of one process.
pub(super) struct Names<'a> {
    pub(super) types: &'a Types,
    /// Where the pointers to code lead.
    pub(super) ways: &'a HashMap<u64, Vec<u64>>,
    /// All code, if it was asked for.
    pub(super) code: Option<AllCode>,
    pub(super) naming: Naming,
}

impl<'a> Names<'a> {
    /// Asks the runtime for its code if there is a callback that is to be named.
    pub(super) fn new(
        process: &DotnetProcess,
        types: &'a Types,
        ways: &'a HashMap<u64, Vec<u64>>,
    ) -> Names<'a> {
        let code = process.client().filter(|_| !ways.is_empty()).and_then(AllCode::ask);
        Names { types, ways, code, naming: Naming::of(process) }
    }

    /// The timers of two looks, by what they do.
    pub(super) fn groups(&self, before: &Timers, after: &Timers) -> Vec<Group> {
        let mut groups: BTreeMap<(Kind, String, Option<u32>), Group> = BTreeMap::new();
        for (timers, is_after) in [(before, false), (after, true)] {
            for ((what, period), alike) in timers {
                let named = self.group(what, *period);
                let key = (named.kind, named.frame.name.clone(), *period);
                let group = groups.entry(key).or_insert(named);
                let count = if is_after { &mut group.now } else { &mut group.before };
                *count += alike.count;
                // Times of the newer look, if there are any left.
                if is_after && group.now > alike.count {
                    group.due = (group.due.0.min(alike.due.0), group.due.1.max(alike.due.1));
                } else {
                    group.due = alike.due;
                }
            }
        }
        let mut groups: Vec<Group> = groups.into_values().collect();
        groups.sort_by_key(|group| std::cmp::Reverse((group.now, group.before)));
        groups
    }

    fn group(&self, what: &What, period: Option<u32>) -> Group {
        let (kind, frame, state) = match what {
            What::Delay(goes_on) => (Kind::Delay, self.goes_on(*goes_on), None),
            What::Cancel => (Kind::Cancel, bare("CancellationTokenSource.CancelAfter"), None),
            What::Tick => (Kind::Tick, bare("PeriodicTimer"), None),
            What::Call(call) => (Kind::Call, self.call(call), call.state),
            What::Elapsed(None) => (Kind::Elapsed, bare("System.Timers.Timer without a handler"), None),
            What::Elapsed(Some(call)) => (Kind::Elapsed, self.call(call), None),
        };
        let method = match what {
            What::Call(call) | What::Elapsed(Some(call)) => self.method(call).is_some(),
            _ => false,
        };
        Group {
            kind,
            frame,
            method,
            period,
            state: state.map(|id| self.type_name(id)),
            due: (0, 0),
            before: 0,
            now: 0,
        }
    }

    /// The method that awaits a delay, or what else goes on when it ends.
    fn goes_on(&self, id: Option<TypeId>) -> Frame {
        let Some(id) = id.filter(|id| self.types.get(*id).is_some()) else { return bare("nobody awaits it") };
        let Some(machine) = machine_of(self.types, id) else { return self.of_type(id) };
        let name = human_name(&self.types.full_name(machine), "MoveNext", "instance void ()");
        let name = facts::method_name(&name);
        Frame { module: self.module(machine), ..bare(name) }
    }

    /// The method that is called; if its code is not there yet, because it was never called, its type.
    fn call(&self, call: &Call) -> Frame {
        self.method(call).or_else(|| call.target.map(|target| self.of_type(target))).unwrap_or_else(|| {
            // Static methods have no object that tells of them.
            bare("a static method that has not run yet")
        })
    }

    fn method(&self, call: &Call) -> Option<Frame> {
        let code = self.code.as_ref()?.lock();
        let mut way = self.ways.get(&call.code)?.iter().rev();
        way.find_map(|address| self.naming.entry(&code, CodeAddress(*address)))
    }

    fn of_type(&self, id: TypeId) -> Frame {
        Frame { module: self.module(id), ..bare(&self.type_name(id)) }
    }

    /// A type's name; that of a closure is the one of the type that has the lambda.
    fn type_name(&self, id: TypeId) -> String {
        let name = self.types.full_name(id);
        let name = name.split("+<>c").next().unwrap_or(&name);
        readable_type(name)
    }

    fn module(&self, id: TypeId) -> Option<String> {
        let module = self.types.get(id).map(|described| described.module.as_str());
        module.filter(|module| !module.is_empty()).map(|module| module_name(module).to_owned())
    }
}

/// Pointers to code that are worth naming: those of callbacks that are not .NET's own.
pub(super) fn pointers(types: &Types, timers: &[&Timers]) -> Vec<u64> {
    let calls = timers.iter().flat_map(|timers| timers.keys()).filter_map(|(what, _)| match what {
        What::Call(call) | What::Elapsed(Some(call)) => Some(call),
        _ => None,
    });
    let worth = calls.filter(|call| call.target.is_none_or(|target| !is_framework(types, target)));
    let mut pointers: Vec<u64> = worth.map(|call| call.code).collect();
    pointers.sort_unstable();
    pointers.dedup();
    pointers.truncate(MOST_POINTERS);
    pointers
}

/// Most callbacks that are named.
const MOST_POINTERS: usize = 4096;

fn bare(name: &str) -> Frame {
    Frame { kind: FrameKind::Managed, name: name.to_owned(), module: None, file: None, line: None }
}
