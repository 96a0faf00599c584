//! From records of the ring to what is told: of the targets only, once each, waits put together.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use model::{ProcessId, ThreadId};

use crate::events::{Events, Role, Tells};
use crate::options::{Children, Scope, Trigger};
use crate::owners::Owners;
use crate::parse::{self, Body, MapBody, Origin, SampleBody, Switch, Touched};
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
    pub(crate) asked: Asked,
}

/// Which samples of running threads are told, by the memory they touch.
#[derive(Debug)]
pub(crate) enum Asked {
    /// All: they touch none.
    All,
    /// Those outside of these ranges, which are in the order of addresses.
    But(Vec<Range<u64>>),
}

impl Asked {
    pub(crate) fn of(trigger: &Trigger) -> Asked {
        match trigger {
            Trigger::Time => Asked::All,
            Trigger::NewMemory { but, .. } => {
                let mut but = but.clone();
                but.sort_unstable_by_key(|range| range.start);
                Asked::But(but)
            }
        }
    }

    fn touched(&self) -> Touched {
        match self {
            Asked::All => Touched::None,
            Asked::But(_) => Touched::Told,
        }
    }

    fn wants(&self, address: Option<u64>) -> bool {
        let (Asked::But(ranges), Some(address)) = (self, address) else { return true };
        let behind = ranges.partition_point(|range| range.start <= address);
        let before = behind.checked_sub(1).and_then(|at| ranges.get(at));
        before.is_none_or(|range| address >= range.end)
    }
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
        let Some((origin, body)) = parse::parse(bytes, self.asked.touched()) else {
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
            Tells::Running if !self.asked.wants(sample.address) => self.counts.unasked += 1,
            Tells::Running => {
                self.counts.on_cpu += 1;
                self.counts.stack_bytes += stack_bytes;
                tell(&Record::OnCpu(Sample { thread, time, cpu, weight: self.period, stack }));
            }
            Tells::Arriving => {
                self.counts.on_cpu += 1;
                self.counts.stack_bytes += stack_bytes;
                // What a function returned is an `int` where anybody asks for it.
                let returned = stack.registers.map_or(0, |registers| registers.ax & u64::from(u32::MAX));
                let weight = Duration::from_nanos(returned);
                tell(&Record::OnCpu(Sample { thread, time, cpu, weight, stack }));
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
