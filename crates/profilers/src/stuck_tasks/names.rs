//! Names for steps of a chain of awaits.

use std::collections::HashMap;

use discovery::DotnetProcess;
use model::{Frame, FrameKind};
use process_view::Process;
use runtime_events::MetadataToken;
use symbols::{SourceLookup, human_name, is_framework_module, module_name, readable_type};
use task_graph::{Leaf, Step, TypeId, Types};

/// Names steps, each once.
pub(super) struct Names<'a> {
    types: &'a Types,
    source: SourceLookup,
    known: HashMap<Step, Frame>,
}

impl<'a> Names<'a> {
    pub(super) fn new(process: &DotnetProcess, types: &'a Types) -> Names<'a> {
        let root = process.visible.then(|| Process::new(process.pid).root());
        Names { types, source: SourceLookup::new(root), known: HashMap::new() }
    }

    /// A step as a frame: the method with the line of its await, or what it waits for.
    pub(super) fn frame(&mut self, step: &Step) -> Frame {
        if let Some(known) = self.known.get(step) {
            return known.clone();
        }
        let frame = match step {
            Step::Await { machine, at } => self.method(*machine, *at),
            Step::Task(id) => bare(&combination(&self.type_name(*id))),
            Step::Leaf(leaf) => bare(&self.leaf(leaf)),
        };
        self.known.insert(step.clone(), frame.clone());
        frame
    }

    fn method(&mut self, machine: TypeId, at: Option<u32>) -> Frame {
        let name = human_name(&self.types.full_name(machine), "MoveNext", "instance void ()");
        let mut frame = bare(facts::method_name(&name));
        let Some(described) = self.types.get(machine) else { return frame };
        frame.module = (!described.module.is_empty()).then(|| module_name(&described.module).to_owned());
        // The framework comes without symbols; looking for them takes time.
        if let (Some(at), Some(layout)) = (at, self.types.layout(machine))
            && !is_framework_module(&described.module)
            && let Some(source) =
                self.source.await_line(&described.module, MetadataToken(layout.move_next), at)
        {
            (frame.file, frame.line) = (Some(source.file), Some(source.line));
        }
        frame
    }

    fn type_name(&self, id: TypeId) -> String {
        readable_type(&self.types.full_name(id))
    }

    fn leaf(&self, leaf: &Leaf) -> String {
        match leaf {
            Leaf::Timer => "a timer".to_owned(),
            Leaf::Completion => "a TaskCompletionSource".to_owned(),
            Leaf::Semaphore => "SemaphoreSlim.WaitAsync".to_owned(),
            Leaf::Socket => "a socket".to_owned(),
            Leaf::Io(id) => format!("input or output ({})", self.type_name(*id)),
            Leaf::Channel => "a channel".to_owned(),
            Leaf::QueuedWork => "work that no thread has begun".to_owned(),
            Leaf::RunningWork => "work that a thread is at".to_owned(),
            Leaf::UnstartedWork => "a task that nobody has started".to_owned(),
            Leaf::Ended => "nothing more: it is about to run".to_owned(),
            Leaf::Source(id) | Leaf::Task(id) => self.type_name(*id),
        }
    }
}

fn bare(name: &str) -> Frame {
    Frame { kind: FrameKind::Managed, name: name.to_owned(), module: None, file: None, line: None }
}

/// What a task that waits for others is called by those who write it.
fn combination(name: &str) -> String {
    let own = name.strip_prefix("System.Threading.Tasks.").unwrap_or(name);
    for (part, called) in [
        ("WhenAny", "Task.WhenAny"),
        ("CompleteOnInvokePromise", "Task.WhenAny"),
        ("WhenAll", "Task.WhenAll"),
        ("UnwrapPromise", "Task.Run or Task.Unwrap"),
        ("CancellationPromise", "Task.WaitAsync"),
        ("Continuation", "Task.ContinueWith"),
    ] {
        if own != name && own.contains(part) {
            return called.to_owned();
        }
    }
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::combination;

    #[test]
    fn tasks_that_wait_for_others_have_the_names_of_their_methods() {
        for (name, called) in [
            ("System.Threading.Tasks.Task.WhenAllPromise", "Task.WhenAll"),
            ("System.Threading.Tasks.Task.WhenAllPromise<System.Int32>", "Task.WhenAll"),
            (
                "System.Threading.Tasks.Task.TwoTaskWhenAnyPromise<System.Threading.Tasks.Task>",
                "Task.WhenAny",
            ),
            ("System.Threading.Tasks.UnwrapPromise<System.Int32>", "Task.Run or Task.Unwrap"),
            ("System.Threading.Tasks.ContinuationTaskFromTask", "Task.ContinueWith"),
            ("Shop.WhenAllOrders", "Shop.WhenAllOrders"),
        ] {
            assert_eq!(combination(name), called);
        }
    }
}
