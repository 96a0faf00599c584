//! What a profiler is.

use std::time::Duration;

use discovery::DotnetProcess;
use facts::LookFacts;
use heap_collector::Taken;
use heap_graph::HeapGraph;
use kernel_collector::SharedCode;
use model::{Cost, Finding, Section, Timestamp, WindowEnd};

use crate::{Parameter, ProfilerError, Settings};

/// Where the data comes from, least intrusive first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Engine {
    /// The kernel's files about the process; the process notices nothing.
    Proc,
    /// Events that the runtime sends over its diagnostics socket; nothing is loaded into the process.
    EventPipe,
    /// Samples that the kernel takes, and names of methods that the runtime tells; nothing is loaded into the process.
    Kernel,
    /// The objects of the heap: told by the runtime's events, or by an agent where that stops the process less.
    Heap,
    /// An agent that is loaded into the process for a visit, asks its runtime, and leaves.
    Agent,
}

impl Engine {
    /// In a few words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Engine::Proc => "/proc, nothing sent to the process",
            Engine::EventPipe => "events of the runtime, nothing loaded into the process",
            Engine::Kernel => "samples of the kernel, nothing loaded into the process",
            Engine::Heap => "the heap, told by events of the runtime or by an agent, whichever stops it less",
            Engine::Agent => "an agent in the process, which leaves when it has answered",
        }
    }

    /// Whether nothing can be had without the runtime's diagnostics socket.
    #[must_use]
    pub fn needs_socket(self) -> bool {
        matches!(self, Engine::EventPipe | Engine::Heap | Engine::Agent)
    }
}

/// How long the target is stopped by a profiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Not at all.
    None,
    /// All its threads are stopped for a moment at every sample.
    Samples,
    /// All its threads are stopped for a moment at every question of the agent's.
    Questions,
    /// All its threads are stopped while its heap is told.
    Heap,
}

impl Pause {
    /// In a few words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Pause::None => "no pause",
            Pause::Samples => "a moment at every sample",
            Pause::Questions => "a moment, a few times",
            Pause::Heap => "while its heap is told",
        }
    }
}

/// What everybody may know of a profiler without running it.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Stable id in kebab case: what users type.
    pub id: &'static str,
    /// Name for people.
    pub name: &'static str,
    /// The question it answers, in the user's words; at most 61 columns, which fit a list.
    pub question: &'static str,
    /// Where its data comes from.
    pub engine: Engine,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Oldest runtime it works on, such as `3.1`.
    pub since: &'static str,
    /// How long the target is stopped.
    pub pause: Pause,
    /// What it costs the target, in one line.
    pub cost: &'static str,
    /// How long it looks when nothing is said.
    pub duration: Duration,
}

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The time is over.
    TimeOver,
    /// The user wants the report now.
    Cancelled,
}

/// How the world outside talks to a running profiler.
pub trait Control: Sync {
    /// Waits, at most this long; comes back early when the user wants the report now.
    fn wait(&self, time: Duration) -> Stop;

    /// Says how far it is.
    fn progress(&self, elapsed: Duration, total: Duration, note: &str);

    /// Keeps a heap beside the report to come, under a name of its own, for later comparisons. Where nothing is kept,
    /// nothing happens.
    fn keep_heap(&self, _name: &str, _graph: &HeapGraph) -> Result<(), String> {
        Ok(())
    }

    /// Takes a heap that its profiler needs no more, for whoever asks about the same process next: to take it again would stop
    /// the process once more.
    fn hand_on_heap(&self, _taken: Taken) {}

    /// A heap that was handed on a moment ago, if there is one.
    fn handed_on_heap(&self) -> Option<Taken> {
        None
    }

    /// Takes the code of the process, for looks that are taken at the same time or soon: to tell of all of it again costs the
    /// process some 20 ms.
    fn hand_on_code(&self, _code: SharedCode) {}

    /// Code that was handed on a moment ago, or that another look is just being told of, if there is any.
    fn handed_on_code(&self) -> Option<SharedCode> {
        None
    }

    /// Whether looks hand on code to each other, so that not each has to be told of all of it.
    fn shares_code(&self) -> bool {
        false
    }

    /// Whether the process may compile methods while it is looked at; not if it is known not to have done so for a while.
    fn expects_code(&self) -> bool {
        true
    }

    /// The heap that a user means by a session or a file; why not, in words, if there is none.
    fn earlier_heap(&self, which: &str) -> Result<EarlierHeap, String> {
        Err(format!("{which}: no earlier heaps can be read here"))
    }
}

/// A heap that was kept.
#[derive(Debug)]
pub struct EarlierHeap {
    /// Its objects.
    pub graph: HeapGraph,
    /// When it was taken, if that is known.
    pub taken_at: Option<Timestamp>,
    /// The name of the process, if it is known.
    pub process: Option<String>,
}

/// One run of a profiler.
pub struct Run<'a> {
    /// The target.
    pub process: &'a DotnetProcess,
    /// The parameters.
    pub settings: &'a Settings,
    /// How long to look.
    pub duration: Duration,
    /// Waiting and progress.
    pub control: &'a dyn Control,
}

/// What a profiler returns; [`crate::ask()`] makes a report of it.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The answer in one sentence.
    pub summary: String,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// The detail.
    pub sections: Vec<Section>,
    /// What a reader must know to trust the numbers.
    pub notes: Vec<String>,
    /// What it cost, without the tool's own share, which is added later.
    pub cost: Cost,
    /// How long it really looked.
    pub measured: Duration,
    /// Why it ended.
    pub end: WindowEnd,
    /// What it saw beside its findings, for whoever judges it together with other looks.
    pub facts: LookFacts,
}

/// Answers one question about a process.
pub trait Profiler: Sync {
    /// What everybody may know of it.
    fn spec(&self) -> &'static Spec;

    /// Looks, and answers. It ends by the run's duration, and early when the user or the target ends.
    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError>;
}
