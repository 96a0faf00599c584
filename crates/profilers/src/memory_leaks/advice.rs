//! What each kind of leak is called, and what to change.

use super::leaks::{Kind, Leak};

impl Kind {
    /// The id of the finding.
    pub(super) fn id(&self) -> &'static str {
        match self {
            Kind::EventHandlers { .. } => "event-handler-leak",
            Kind::Async { .. } => "async-leak",
            Kind::Timers => "timer-leak",
            Kind::FinalizerQueue => "finalizer-queue-growth",
            Kind::WeakTable { .. } => "weak-table-leak",
            Kind::ThreadStatic { .. } => "thread-static-leak",
            Kind::Registrations | Kind::Handles { .. } | Kind::GcHandles => "handle-leak",
            Kind::Closures => "closure-leak",
            Kind::Cache => "cache-growth",
            Kind::Collection | Kind::Locals => "memory-leak",
        }
    }

    /// What to change, the most useful first.
    pub(super) fn advice(&self, leak: &Leak) -> Vec<String> {
        let what = &leak.what;
        match self {
            Kind::EventHandlers { event, subscriber } => vec![
                format!("Let each {subscriber} remove its handler from {event} (-=) when it is done, in Dispose for example."),
                "Where the publisher outlives its subscribers, use a weak event or a subscription that is disposed of.".to_owned(),
            ],
            Kind::Async { method } => vec![
                format!(
                    "Find out what {} awaits and why that never completes: give it a timeout or a CancellationToken.",
                    method.as_deref().unwrap_or("the operation")
                ),
                "drdotnet run stuck-tasks -p PID   shows what pending operations wait for, line by line.".to_owned(),
            ],
            Kind::Timers => vec![
                format!("Dispose of the timer when {what} is done with: an active timer keeps its callback's object alive."),
                "drdotnet run timers -p PID   lists the live timers by callback and period.".to_owned(),
            ],
            Kind::FinalizerQueue => vec![
                "Look at what the finalizer thread does: one finalizer that waits holds up all others.".to_owned(),
                format!("Dispose of {what} when it is done with (using), so that no finalizer is needed."),
                "drdotnet run finalizer-queue -p PID   shows the queue and its thread.".to_owned(),
            ],
            Kind::WeakTable { key, .. } => vec![
                format!("An entry of a ConditionalWeakTable lives as long as its key: find out who keeps the {key} alive, or take entries out again."),
                "If the keys are meant to live on, bound what the values collect.".to_owned(),
            ],
            Kind::ThreadStatic { .. } => vec![
                "Bound what each thread keeps, and empty it when its work is done: pool threads live as long as the process.".to_owned(),
                "A [ThreadStatic] or ThreadLocal is no place for data of one request: pass that along, or use AsyncLocal.".to_owned(),
            ],
            Kind::Registrations => vec![
                "Dispose of the CancellationTokenRegistration that Register returns (using): a source that lives long keeps every callback.".to_owned(),
                "For linked sources, dispose of the CancellationTokenSource itself.".to_owned(),
            ],
            Kind::Handles { of } => vec![
                format!("Close what is opened (using, Dispose): each of them holds {of}, of which a process may have only so many."),
                "Take closed ones out of the collection that holds them.".to_owned(),
            ],
            Kind::GcHandles => vec![
                "Free each GCHandle when native code is done with it (GCHandle.Free in a finally).".to_owned(),
                "drdotnet run handles -p PID   lists handles by kind and type.".to_owned(),
            ],
            Kind::Closures => vec![
                "Look at who keeps the lambda: it holds every variable that it, or another lambda of the same method, uses.".to_owned(),
                "Take the callback out again when it has run, or capture only what it needs.".to_owned(),
            ],
            Kind::Cache => vec![
                "Give the cache a bound: a size limit with eviction, or an expiry (MemoryCache with SizeLimit, for example).".to_owned(),
                "Check the key: one that contains a time, an id of a request or a new object is never found again.".to_owned(),
            ],
            Kind::Collection if leak.swells => vec![
                "Look at who adds to it, and whether anybody takes out again.".to_owned(),
            ],
            Kind::Collection => vec![
                format!("Look at who adds {what} to it, and whether anybody takes them out again."),
                "If it is meant to be a cache, give it a bound.".to_owned(),
            ],
            Kind::Locals => vec![
                "It hangs on a method that is still running: look for a loop that collects and never empties.".to_owned(),
                "--set looks=4   tells work in progress from growth.".to_owned(),
            ],
        }
    }
}
