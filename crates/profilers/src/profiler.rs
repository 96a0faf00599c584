//! What a profiler is.

use std::time::Duration;

use discovery::DotnetProcess;
use facts::LookFacts;
use kernel_collector::SharedCode;
use model::{Cost, Finding, Section, WindowEnd};

use crate::control::{Archive, Control, Sharing};
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
    /// What it shares with other looks at the process, if there are any.
    pub sharing: Option<&'a dyn Sharing>,
    /// What is kept, if anything is.
    pub archive: Option<&'a dyn Archive>,
}

impl<'a> Run<'a> {
    /// A run that shares nothing with others, and keeps nothing.
    #[must_use]
    pub fn new(
        process: &'a DotnetProcess,
        settings: &'a Settings,
        duration: Duration,
        control: &'a dyn Control,
    ) -> Run<'a> {
        Run { process, settings, duration, control, sharing: None, archive: None }
    }

    /// The same, sharing with other looks.
    #[must_use]
    pub fn sharing(self, sharing: &'a dyn Sharing) -> Run<'a> {
        Run { sharing: Some(sharing), ..self }
    }

    /// The same, with what is kept.
    #[must_use]
    pub fn archive(self, archive: &'a dyn Archive) -> Run<'a> {
        Run { archive: Some(archive), ..self }
    }

    /// Code that another look has handed on, if one has.
    pub(crate) fn handed_on_code(&self) -> Option<SharedCode> {
        self.sharing?.handed_on_code()
    }

    /// Hands code on to other looks, if there are any.
    pub(crate) fn hand_on_code(&self, code: impl FnOnce() -> SharedCode) {
        if let Some(sharing) = self.sharing {
            sharing.hand_on_code(code());
        }
    }
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
