//! From records of the ring to what is told: of the targets only, once each, waits put together.

use std::collections::BTreeSet;
use std::time::Duration;

use model::{ProcessId, ThreadId};

use crate::events::{Events, Role, Tells};
use crate::options::{Children, Scope};
use crate::owners::Owners;
use crate::parse::{self, Body, MapBody, Origin, SampleBody, Switch};
use crate::record::{Leaving, Mapped, Record, Sample, SwitchOut, Thread};
use crate::sampler::Counts;
use crate::waits::Waits;

/// Which processes are told of.
#[derive(Debug)]
pub(crate) struct Targets {
    /// `None` for all.
    pub(crate) processes: Option<BTreeSet<ProcessId>>,
    pub(crate) children: Children,
    /// Children that came since somebody asked.
    pub(crate) born: Vec<ProcessId>,
}

impl Targets {
    pub(crate) fn new(scope: &Scope, children: Children) -> Targets {
        let processes = match scope {
            Scope::Processes(processes) => Some(processes.clone()),
            Scope::Machine => None,
        };
        Targets { processes, children, born: Vec::new() }
    }

    fn contains(&self, process: ProcessId) -> bool {
        self.processes.as_ref().is_none_or(|processes| processes.contains(&process))
    }

    fn adopt(&mut self, child: ProcessId, parent: ProcessId) {
        let Some(processes) = &mut self.processes else { return };
        if self.children == Children::Followed && processes.contains(&parent) && processes.insert(child) {
            self.born.push(child);
        }
    }
}

/// Sorts records.
#[derive(Debug)]
pub(crate) struct Intake {
    pub(crate) targets: Targets,
    pub(crate) owners: Owners,
    /// `None` when waits were not asked for.
    pub(crate) waits: Option<Waits>,
    pub(crate) counts: Counts,
    pub(crate) period: Duration,
    pub(crate) max_frames: usize,
}

impl Intake {
    /// One record, and the switch behind it when it is the stack of a thread that leaves.
    pub(crate) fn take(
        &mut self,
        bytes: &[u8],
        behind: Option<(Switch, ThreadId)>,
        events: &Events,
        tell: &mut dyn FnMut(&Record<'_>),
    ) {
        let Some((origin, body)) = parse::parse(bytes) else {
            self.counts.broken += 1;
            return;
        };
        match body {
            // These are of the ring, not of a process.
            Body::Lost { records } => {
                self.counts.lost += records;
                return tell(&Record::Lost { records, time: origin.time });
            }
            Body::Throttled => {
                self.counts.throttled += 1;
                return tell(&Record::Throttled { time: origin.time });
            }
            Body::Began { thread, parent } => self.targets.adopt(thread.process, parent.process),
            _ => {}
        }
        let subject = match body {
            Body::Named { thread, .. } | Body::Began { thread, .. } | Body::Ended { thread } => thread,
            Body::Mapped(MapBody { thread, .. }) => thread,
            _ => origin.thread,
        };
        if !self.targets.contains(subject.process) {
            self.counts.of_others += 1;
            self.counts.samples_of_others += u64::from(matches!(body, Body::Sample(_)));
            return;
        }
        let role = match body {
            Body::Sample(_) => events.role_of_sample(origin.event),
            _ => events.role(origin.event),
        };
        let Some(role) = role else {
            self.counts.broken += 1;
            return;
        };
        if role.owner.is_some_and(|owner| !self.owners.believes(origin.thread.id, owner)) {
            self.counts.twice += 1;
            return;
        }
        self.believe(origin, body, behind, role, tell);
    }

    fn believe(
        &mut self,
        origin: Origin,
        body: Body<'_>,
        behind: Option<(Switch, ThreadId)>,
        role: Role,
        tell: &mut dyn FnMut(&Record<'_>),
    ) {
        let Origin { thread, time, .. } = origin;
        match body {
            Body::Sample(sample) => self.sample(origin, sample, behind, role, tell),
            Body::Switch(switch) => {
                self.counts.switches += 1;
                let wait = self.waits.as_mut().and_then(|waits| waits.switched(thread, time, switch));
                if let Some(wait) = wait {
                    tell(&Record::OffCpu(wait));
                }
            }
            Body::Mapped(MapBody { thread, start, length, offset, key, protection, flags, path }) => {
                tell(&Record::Mapped(Mapped {
                    thread,
                    time,
                    start,
                    length,
                    offset,
                    key,
                    protection,
                    flags,
                    path,
                }));
            }
            Body::Named { thread, name, exec } => {
                if exec {
                    self.owners.forget(thread.id);
                }
                tell(&Record::Named { thread, time, name, exec });
            }
            Body::Began { thread, parent } => {
                if let Some(waits) = &mut self.waits {
                    waits.began(thread);
                }
                tell(&Record::Began { thread, parent, time });
            }
            Body::Ended { thread } => {
                self.forget(thread);
                tell(&Record::Ended { thread, time });
            }
            Body::Lost { .. } | Body::Throttled | Body::Other => {}
        }
    }

    fn sample(
        &mut self,
        origin: Origin,
        sample: SampleBody<'_>,
        behind: Option<(Switch, ThreadId)>,
        role: Role,
        tell: &mut dyn FnMut(&Record<'_>),
    ) {
        let Origin { thread, time, cpu, .. } = origin;
        let Some(stack) = sample.stack(role.copy, self.max_frames) else {
            self.counts.broken += 1;
            return;
        };
        let stack_bytes = stack.memory.len() as u64;
        match role.tells {
            Tells::Running => {
                self.counts.on_cpu += 1;
                self.counts.stack_bytes += stack_bytes;
                tell(&Record::OnCpu(Sample { thread, time, cpu, weight: self.period, stack }));
            }
            Tells::Leaving => {
                let Some(waits) = &mut self.waits else { return };
                let Some(id) = waits.stack(thread) else {
                    self.counts.twice += 1;
                    return;
                };
                self.counts.wait_stacks += 1;
                self.counts.stack_bytes += stack_bytes;
                let leaving = match behind {
                    Some((Switch::Out { preempted: true }, id)) if id == thread.id => Leaving::Preempted,
                    Some((Switch::Out { preempted: false }, id)) if id == thread.id => Leaving::Blocked,
                    _ => Leaving::Unknown,
                };
                tell(&Record::SwitchOut(SwitchOut { id, thread, time, cpu, leaving, stack }));
            }
        }
    }

    fn forget(&mut self, thread: Thread) {
        self.owners.forget(thread.id);
        if let Some(waits) = &mut self.waits {
            waits.ended(thread.id);
        }
    }
}
