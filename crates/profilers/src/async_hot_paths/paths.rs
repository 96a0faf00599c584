//! From logical stacks to paths of methods, from the one that nobody awaits to the one that runs.

use std::collections::{BTreeMap, HashMap};

use agent_host::{Class, Method};
use discovery::DotnetProcess;
use model::{Frame, FrameKind};
use process_view::Process;
use runtime_events::MetadataToken;
use symbols::{SourceLookup, human_name, module_name};

use super::collect::{Collected, End, LogicalStack, Shortcoming, Spent};
use crate::blame;
use crate::ratio::fraction;

/// One method on a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) frame: Frame,
    /// Whether it is an async method.
    pub(super) is_async: bool,
}

/// What was spent on one path.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path {
    /// From the root to what ran.
    pub(super) steps: Vec<Step>,
    pub(super) spent: Spent,
}

/// All paths.
#[derive(Clone, Debug, Default)]
pub(super) struct Paths {
    /// Of async methods.
    pub(super) paths: Vec<Path>,
    /// Of methods that are not on behalf of an async method.
    pub(super) not_async: Spent,
    /// Of resumed methods whose callers are not known.
    pub(super) lost: Spent,
    /// Of chains that end in something else than an async method.
    pub(super) elsewhere: Spent,
    pub(super) process_cpu_ns: u64,
    pub(super) unseen_cpu_ns: u64,
    pub(super) looks: usize,
    /// Async methods that were not finished, on average; none if they were not counted.
    pub(super) in_flight: Option<Vec<InFlight>>,
    pub(super) shortcoming: Option<Shortcoming>,
}

/// Async methods that were not finished.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct InFlight {
    /// From the root to the method.
    pub(super) steps: Vec<Step>,
    /// How many on average.
    pub(super) mean: f64,
}

/// What names say of async methods.
pub(super) const ASYNC: &str = " [async]";
/// What the compiler calls the method that does an async method's work.
const WORK: &str = "MoveNext";

/// Names what was collected.
pub(super) fn paths(collected: &Collected, process: &DotnetProcess) -> Paths {
    let root = process.visible.then(|| Process::new(process.pid).root());
    let mut names = Names { collected, source: SourceLookup::new(root), frames: HashMap::new() };
    let mut all = Paths {
        process_cpu_ns: collected.process_cpu_ns,
        unseen_cpu_ns: collected.unseen_cpu_ns,
        looks: collected.looks,
        not_async: collected.others,
        shortcoming: collected.waits.shortcoming,
        ..Paths::default()
    };
    let mut merged: BTreeMap<Vec<(String, bool)>, Path> = BTreeMap::new();
    let mut stacks: Vec<_> = collected.stacks.iter().collect();
    stacks.sort_by_key(|(stack, _)| *stack);
    for (stack, spent) in stacks {
        let steps = names.steps(stack);
        if !steps.iter().any(|step| step.is_async) {
            add(&mut all.not_async, *spent);
            continue;
        }
        match stack.chain {
            Some(End::Lost) => add(&mut all.lost, *spent),
            Some(End::Elsewhere) => add(&mut all.elsewhere, *spent),
            _ => {}
        }
        let key = steps.iter().map(|step| (step.frame.name.clone(), step.is_async)).collect();
        let path = merged.entry(key).or_insert_with(|| Path { steps, spent: Spent::default() });
        add(&mut path.spent, *spent);
    }
    all.paths = merged.into_values().collect();
    all.in_flight = names.in_flight();
    all
}

pub(super) fn add(sum: &mut Spent, more: Spent) {
    sum.cpu_ns += more.cpu_ns;
    sum.blocked_ns += more.blocked_ns;
    sum.looks += more.looks;
}

struct Names<'a> {
    collected: &'a Collected,
    source: SourceLookup,
    frames: HashMap<u64, Frame>,
}

impl Names<'_> {
    /// Methods that were not finished, by path.
    fn in_flight(&mut self) -> Option<Vec<InFlight>> {
        let waits = &self.collected.waits;
        if waits.counts == 0 {
            return None;
        }
        let mut merged: BTreeMap<Vec<String>, InFlight> = BTreeMap::new();
        for (links, count) in &waits.pending {
            // Its own object first; a chain whose first object is no async method's is none.
            let Some(own) = links.first().and_then(|own| self.collected.classes.get(own)) else { continue };
            let Some(frame) = self.of_class(own) else { continue };
            let outer = links.iter().skip(1).rev().filter_map(|link| self.collected.classes.get(link));
            let outer: Vec<&Class> = outer.collect();
            let mut steps: Vec<Step> = outer
                .into_iter()
                .filter_map(|class| Some(Step { frame: self.of_class(class)?, is_async: true }))
                .collect();
            steps.push(Step { frame, is_async: true });
            let key = steps.iter().map(|step| step.frame.name.clone()).collect();
            let entry = merged.entry(key).or_insert_with(|| InFlight { steps, mean: 0.0 });
            entry.mean += fraction(*count) / f64::from(waits.counts);
        }
        Some(merged.into_values().collect())
    }

    fn steps(&mut self, stack: &LogicalStack) -> Vec<Step> {
        let methods = self.of_methods(stack);
        let mut steps: Vec<Step> = Vec::new();
        // The first link is the resumed method itself, which is on the stack, too.
        for link in stack.links.iter().skip(1).rev() {
            if let Some(class) = self.collected.classes.get(link)
                && let Some(frame) = self.of_class(class)
            {
                steps.push(Step { frame, is_async: true });
            }
        }
        for step in methods {
            match steps.last_mut() {
                // An async method appears as the stub that its caller called, and as its state machine.
                Some(last) if last.frame.name == step.frame.name => last.is_async |= step.is_async,
                _ => steps.push(step),
            }
        }
        steps
    }

    /// The stack, outermost first: the program's own methods, and the framework's async ones.
    fn of_methods(&mut self, stack: &LogicalStack) -> Vec<Step> {
        let collected = self.collected;
        let known: Vec<(u64, &Method)> =
            stack.methods.iter().filter_map(|id| Some((*id, collected.methods.get(id)?))).collect();
        let mut steps = Vec::new();
        for (at, (id, method)) in known.iter().enumerate().rev() {
            let frame = self.of_method(*id, method);
            let outer = known.get(at + 1).map(|(_, outer)| *outer);
            let is_resumed = stack.chain.is_some() && Some(at) == resumed(&known);
            let is_async = is_machine(&method.class, &method.name)
                && (is_resumed || outer.is_some_and(|outer| starts(outer, &frame.name)));
            if blame::is_own(&frame) || is_async {
                steps.push(Step { frame, is_async });
            }
        }
        steps
    }

    fn of_method(&mut self, id: u64, method: &Method) -> Frame {
        let source = &mut self.source;
        self.frames.entry(id).or_insert_with(|| frame(source, method)).clone()
    }

    /// The method whose state machine a type is; none of another type.
    fn of_class(&mut self, class: &Class) -> Option<Frame> {
        if !is_machine(&class.name, WORK) {
            return None;
        }
        let is_work = |method: &&Method| {
            method.name == WORK && method.class == class.name && method.module == class.module
        };
        let seen = self.collected.methods.values().find(is_work).map(|method| (method.id, method));
        Some(match seen {
            Some((id, method)) => self.of_method(id, method),
            None => bare(&class.module, name_of(&class.name, WORK)),
        })
    }
}

/// Which frame is the resumed method's: the outermost state machine of those that were since resumed.
fn resumed(known: &[(u64, &Method)]) -> Option<usize> {
    known.iter().rposition(|(_, method)| is_machine(&method.class, &method.name))
}

/// Whether a method is the work of what the compiler made of an async method or an iterator: `Shop+<Load>d__3.MoveNext`.
fn is_machine(class: &str, method: &str) -> bool {
    let nested = class.rsplit('+').next().unwrap_or(class);
    method == WORK && nested.starts_with('<') && nested.contains(">d__") && class.contains('+')
}

/// Whether a method starts the state machine of that name: the stub with the method's own name, or the builder.
fn starts(outer: &Method, name: &str) -> bool {
    outer.name.starts_with("Start") && outer.class.starts_with("System.Runtime.CompilerServices.Async")
        || name_of(&outer.class, &outer.name) == name
}

/// The name of a method; that it is async is said otherwise here.
fn name_of(class: &str, method: &str) -> String {
    let name = human_name(class, method, "");
    name.strip_suffix(ASYNC).map(str::to_owned).unwrap_or(name)
}

fn bare(module: &str, name: String) -> Frame {
    let module = (!module.is_empty()).then(|| module_name(module).to_owned());
    Frame { kind: FrameKind::Managed, name, module, file: None, line: None }
}

fn frame(source: &mut SourceLookup, method: &Method) -> Frame {
    let name =
        if method.name.is_empty() { blame::UNNAMED.to_owned() } else { name_of(&method.class, &method.name) };
    let mut frame = bare(&method.module, name);
    if blame::is_own(&frame)
        && let Some(found) = source.line_of(&method.module, MetadataToken(method.token), None)
    {
        (frame.file, frame.line) = (Some(found.file), Some(found.line));
    }
    frame
}
