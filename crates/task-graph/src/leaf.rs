//! What an operation waits for in the end.

use crate::objects::Object;
use crate::roles::{TASK, TaskLayout};
use crate::state::{INVOKED, STARTED};
use crate::types::{TypeId, Types};

/// What is waited for and waits for nothing that we can see.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Leaf {
    /// A time that has not come: `Task.Delay`, `PeriodicTimer`.
    Timer,
    /// Somebody who completes a `TaskCompletionSource`, or the like, by hand.
    Completion,
    /// A place in a `SemaphoreSlim`.
    Semaphore,
    /// Data of a socket.
    Socket,
    /// Data of a file, a pipe, a stream, or a protocol on them.
    Io(TypeId),
    /// Somebody who writes to a channel, or reads from it.
    Channel,
    /// Work that a scheduler has not begun.
    QueuedWork,
    /// Work that a thread is at.
    RunningWork,
    /// Work that nobody has started, or whose start another task will be.
    UnstartedWork,
    /// The awaited task has ended: who awaits it is about to run.
    Ended,
    /// A source of this type.
    Source(TypeId),
    /// A task of this type.
    Task(TypeId),
}

impl Leaf {
    /// Of a pending task that is no `async` method.
    pub(crate) fn of_task(types: &Types, layout: &TaskLayout, object: &Object) -> Leaf {
        let name = types.get(object.id).map_or("", |described| described.name.as_str());
        if let Some(leaf) = by_name(name, object.id) {
            return leaf;
        }
        let is_plain = name == TASK || name == "System.Threading.Tasks.Task`1";
        let runs = layout.action.and_then(|at| object.reference(at)).is_some();
        let flags = object.bits(layout.flags).unwrap_or(0);
        match (runs, is_plain) {
            (true, _) if flags & INVOKED != 0 => Leaf::RunningWork,
            (true, _) if flags & STARTED != 0 => Leaf::QueuedWork,
            (true, _) => Leaf::UnstartedWork,
            (false, true) => Leaf::Completion,
            (false, false) => Leaf::Task(object.id),
        }
    }

    /// Of an object that is awaited and is no task.
    pub(crate) fn of_source(types: &Types, id: TypeId) -> Leaf {
        let name = types.get(id).map_or("", |described| described.name.as_str());
        by_name(name, id).unwrap_or(Leaf::Source(id))
    }

    /// Whether waiting for it says nothing about who waits: every idle service does.
    #[must_use]
    pub fn is_ordinary(&self) -> bool {
        !matches!(self, Leaf::Completion | Leaf::Semaphore)
    }
}

/// By where the framework puts its sources.
fn by_name(name: &str, id: TypeId) -> Option<Leaf> {
    let (namespace, own) = split(name);
    Some(match (namespace, own) {
        ("System.Threading.Tasks", own) if own.starts_with("Task+DelayPromise") => Leaf::Timer,
        ("System.Threading", own) if own.starts_with("PeriodicTimer") => Leaf::Timer,
        ("System.Threading", own) if own.starts_with("SemaphoreSlim+") => Leaf::Semaphore,
        ("System.Threading.Channels", _) => Leaf::Channel,
        ("System.Net.Sockets", _) => Leaf::Socket,
        (namespace, _) if is_in(namespace, "System.Net") || is_in(namespace, "System.IO") => Leaf::Io(id),
        (namespace, _) if is_in(namespace, "Microsoft.AspNetCore") => Leaf::Io(id),
        _ => return None,
    })
}

fn is_in(namespace: &str, outer: &str) -> bool {
    namespace.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Namespace and name.
fn split(name: &str) -> (&str, &str) {
    let end = name.find(['+', '<']).unwrap_or(name.len());
    name.get(..end).and_then(|outer| outer.rfind('.')).map_or(("", name), |dot| {
        (name.get(..dot).unwrap_or_default(), name.get(dot + 1..).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_of_the_framework_are_told_apart() {
        let id = TypeId(1);
        for (name, leaf) in [
            ("System.Threading.Tasks.Task+DelayPromise", Some(Leaf::Timer)),
            ("System.Threading.Tasks.Task+DelayPromiseWithCancellation", Some(Leaf::Timer)),
            ("System.Threading.PeriodicTimer+State", Some(Leaf::Timer)),
            ("System.Threading.SemaphoreSlim+TaskNode", Some(Leaf::Semaphore)),
            ("System.Threading.Channels.AsyncOperation`1", Some(Leaf::Channel)),
            ("System.Net.Sockets.Socket+AwaitableSocketAsyncEventArgs", Some(Leaf::Socket)),
            ("System.Net.Http.HttpConnection+Waiter", Some(Leaf::Io(id))),
            ("System.IO.Pipelines.Pipe+DefaultPipeReader", Some(Leaf::Io(id))),
            ("System.IOther.Thing", None),
            ("Shop.Queue+Waiter", None),
            ("", None),
        ] {
            assert_eq!(by_name(name, id), leaf, "{name}");
        }
    }
}
