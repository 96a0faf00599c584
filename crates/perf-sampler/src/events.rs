//! Opens the planned events and leads them into the rings.

use std::collections::{BTreeSet, HashMap};
use std::os::fd::{AsFd, OwnedFd};

use model::{ProcessId, ThreadId};
use process_view::Process;
use rustix::io::Errno;

use crate::attr::{Attr, CONTEXT_SWITCHES, CPU_CLOCK, PAGE_FAULTS_MINOR, SAMPLE_STACK_USER};
use crate::error::SamplerError;
use crate::facts::Facts;
use crate::granted::{Missing, OffCpu, Part};
use crate::options::Placement;
use crate::parse::StackCopy;
use crate::plan::{Plan, Planned};
use crate::refusal;
use crate::ring::Ring;
use crate::sieve::Sieve;
use crate::sys::{self, Kernel, Watched};

/// Smallest ring: it holds several of the largest records that are usual.
const SMALLEST_RING: usize = 64 << 10;

/// Looks for threads that were born while events were put into the others. Whoever is born later inherits.
const MOST_LOOKS: usize = 8;

/// What an event tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tells {
    /// Of running threads.
    Running,
    /// Of threads that leave their CPU.
    Leaving,
    /// Of threads that come to a place.
    Arriving,
}

/// What is known of an event when a record names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Role {
    pub(crate) tells: Tells,
    pub(crate) copy: StackCopy,
    /// The thread it was put into; `None` for one that watches a CPU.
    pub(crate) owner: Option<ThreadId>,
}

/// Events that are open.
#[derive(Debug, Default)]
pub(crate) struct Events {
    pub(crate) descriptors: Vec<OwnedFd>,
    roles: HashMap<u64, Role>,
    /// Whether stacks of threads that leave are told, and with a copy.
    leaving: Option<StackCopy>,
    /// Threads that have events of their own.
    pub(crate) threads: Vec<ThreadId>,
}

/// Bytes of one CPU's ring: two seconds of samples, as far as the memory goes. A quarter of a second where locked
/// memory is counted, so that usual limits suffice.
pub(crate) fn ring_size(plan: &Plan, memory: usize, stack_bytes: u32) -> usize {
    /// Header, chain and registers of a usual sample.
    const BESIDE_STACK: usize = 400;
    /// Room for switches, which come as they like: with stacks, and without.
    const FOR_STACKS: usize = 4 << 20;
    const FOR_TIMES: usize = 1 << 20;
    let rate = usize::try_from(plan.rate_hz).unwrap_or(usize::MAX);
    let stack = usize::try_from(stack_bytes).unwrap_or(0);
    let second = if plan.clock.is_some() || !plan.places.is_empty() {
        rate.saturating_mul(stack + BESIDE_STACK)
    } else {
        0
    };
    let samples = if plan.facts.may_lock_memory() { second.saturating_mul(2) } else { second / 4 };
    let switches = match plan.off_cpu {
        Some(OffCpu::WithStacks(_)) => FOR_STACKS,
        Some(OffCpu::TimesOnly) => FOR_TIMES,
        None => 0,
    };
    let wanted = samples.saturating_add(switches);
    let most = (memory / plan.facts.cpus.len().max(1)).max(SMALLEST_RING);
    let largest = most.checked_next_power_of_two().map_or(1 << 30, |up| if up == most { up } else { up / 2 });
    wanted.max(4 * SMALLEST_RING).checked_next_power_of_two().map_or(largest, |wanted| wanted.min(largest))
}

/// One ring per CPU, of this size or as much smaller as the limits demand.
pub(crate) fn rings(
    kernel: &dyn Kernel,
    facts: &Facts,
    wanted: usize,
) -> Result<(Vec<Ring>, Option<Missing>), SamplerError> {
    let mut size = wanted.max(SMALLEST_RING);
    let mut refused = None;
    loop {
        match rings_of(kernel, facts, size) {
            Ok(rings) => {
                let missing = refused.map(|errno| {
                    let (cause, remedies) = refusal::ring(errno, facts, wanted);
                    Missing { part: Part::RingSize { wanted, got: size }, cause, remedies }
                });
                return Ok((rings, missing));
            }
            Err(errno @ (Errno::PERM | Errno::NOMEM | Errno::AGAIN)) if size > SMALLEST_RING => {
                refused = Some(errno);
                size /= 2;
            }
            Err(errno) => {
                let (cause, remedies) = refusal::ring(errno, facts, SMALLEST_RING);
                return Err(SamplerError::NoRing { smallest: size, cause, remedies });
            }
        }
    }
}

fn rings_of(kernel: &dyn Kernel, facts: &Facts, size: usize) -> Result<Vec<Ring>, Errno> {
    // Wake the reader when a ring is a quarter full: rarely, and with time left.
    let attr = Attr::ring_owner(u32::try_from(size / 4).unwrap_or(u32::MAX));
    // The owners sit in our first thread, which lives as long as we do. Theirs would take the ring along when they end.
    let ourselves = i32::try_from(std::process::id()).unwrap_or(0);
    let mut rings = Vec::new();
    for &cpu in &facts.cpus {
        let owner = match kernel.open(&attr, Watched { thread: ourselves, cpu }) {
            // A CPU that was just switched off.
            Err(Errno::NODEV) => continue,
            // Our first thread has ended.
            Err(Errno::SRCH) => kernel.open(&attr, Watched { thread: 0, cpu })?,
            answer => answer?,
        };
        let memory = kernel.map(owner.as_fd(), size)?;
        rings.push(Ring { owner, cpu, memory });
    }
    if rings.is_empty() { Err(Errno::NODEV) } else { Ok(rings) }
}

/// What became of a thread that was to be watched.
enum Put {
    Done,
    Gone,
    Refused(Errno),
}

impl Events {
    /// What a sample tells.
    ///
    /// The kernel hands a context switch to all events that wait for one, of whatever program, and writes the id of
    /// the first into the samples of all (6.18 does). So only the ids of other events can be trusted.
    pub(crate) fn role_of_sample(&self, id: u64) -> Option<Role> {
        match self.roles.get(&id) {
            Some(role) if role.tells != Tells::Leaving => Some(*role),
            _ => self.leaving.map(|copy| Role { tells: Tells::Leaving, copy, owner: None }),
        }
    }

    /// What the event of a record that is no sample tells.
    pub(crate) fn role(&self, id: u64) -> Option<Role> {
        self.roles.get(&id).copied()
    }

    /// Opens the events that watch CPUs.
    pub(crate) fn watch_cpus(
        &mut self,
        kernel: &dyn Kernel,
        plan: &Plan,
        rings: &[Ring],
        sieve: Option<&Sieve>,
    ) -> Result<(), SamplerError> {
        for planned in of(plan, Placement::PerCpu) {
            for ring in rings {
                match self.open(kernel, planned.attr, -1, ring, None) {
                    Ok(()) => {
                        if let (Some(sieve), Some(event)) = (sieve, self.descriptors.last()) {
                            sieve.put_on(event.as_fd());
                        }
                    }
                    Err(Errno::NODEV) => {}
                    Err(errno) => {
                        let (cause, remedies) =
                            refusal::explain(errno, refusal::Asked::AllProcesses, &plan.facts);
                        return Err(SamplerError::Refused { cause, remedies });
                    }
                }
            }
        }
        Ok(())
    }

    /// Puts events into the threads of a process. Says what could not be reached.
    pub(crate) fn watch_process(
        &mut self,
        kernel: &dyn Kernel,
        plan: &Plan,
        rings: &[Ring],
        process: ProcessId,
    ) -> Option<Missing> {
        let planned: Vec<Planned> = of(plan, Placement::PerThread).collect();
        if planned.is_empty() {
            return None;
        }
        let mut tried = BTreeSet::new();
        let mut refused: Option<(Errno, usize)> = None;
        for _ in 0..MOST_LOOKS {
            let tasks = Process::new(process).tasks().unwrap_or_default();
            let new: Vec<ThreadId> =
                tasks.iter().map(|task| task.id).filter(|id| tried.insert(*id)).collect();
            if new.is_empty() {
                break;
            }
            for thread in new {
                if let Put::Refused(errno) = self.put(kernel, &planned, rings, thread) {
                    refused = Some((errno, refused.map_or(1, |(_, count)| count + 1)));
                }
            }
        }
        let (errno, count) = refused?;
        let (cause, remedies) = refusal::explain(errno, refusal::Asked::Process(process), &plan.facts);
        Some(Missing { part: Part::Threads { count }, cause, remedies })
    }

    /// All events of a thread, or none.
    fn put(&mut self, kernel: &dyn Kernel, planned: &[Planned], rings: &[Ring], thread: ThreadId) -> Put {
        let Ok(number) = i32::try_from(thread.0) else { return Put::Gone };
        let before = self.descriptors.len();
        let mut outcome = Put::Done;
        'thread: for planned in planned {
            for ring in rings {
                let mut answer = self.open(kernel, planned.attr, number, ring, Some(thread));
                if answer == Err(Errno::MFILE) && kernel.raise_descriptor_limit() {
                    answer = self.open(kernel, planned.attr, number, ring, Some(thread));
                }
                outcome = match answer {
                    Ok(()) | Err(Errno::NODEV) => continue,
                    Err(Errno::SRCH) => Put::Gone,
                    Err(errno) => Put::Refused(errno),
                };
                break 'thread;
            }
        }
        if matches!(outcome, Put::Done) {
            self.threads.push(thread);
        } else {
            self.descriptors.truncate(before);
            self.roles.retain(|_, role| role.owner != Some(thread));
        }
        outcome
    }

    fn open(
        &mut self,
        kernel: &dyn Kernel,
        attr: Attr,
        thread: i32,
        ring: &Ring,
        owner: Option<ThreadId>,
    ) -> Result<(), Errno> {
        let event = kernel.open(&attr, Watched { thread, cpu: ring.cpu })?;
        sys::write_to(event.as_fd(), ring.owner.as_fd())?;
        let id = sys::id(event.as_fd())?;
        let tells = match attr.config {
            _ if attr.is_execution() => Tells::Arriving,
            CPU_CLOCK | PAGE_FAULTS_MINOR => Tells::Running,
            _ => Tells::Leaving,
        };
        let copy =
            if attr.sample_type & SAMPLE_STACK_USER == 0 { StackCopy::None } else { StackCopy::Copied };
        if attr.config == CONTEXT_SWITCHES {
            self.leaving = Some(copy);
        }
        self.roles.insert(id, Role { tells, copy, owner });
        self.descriptors.push(event);
        Ok(())
    }

    /// Starts the events from this one on.
    pub(crate) fn enable_from(&self, first: usize) {
        for event in self.descriptors.iter().skip(first) {
            // Refused only when the thread has ended meanwhile.
            let _ = sys::enable(event.as_fd());
        }
    }

    /// Stops all.
    pub(crate) fn disable(&self) {
        for event in &self.descriptors {
            let _ = sys::disable(event.as_fd());
        }
    }
}

fn of(plan: &Plan, placement: Placement) -> impl Iterator<Item = Planned> + use<> {
    let all = plan.clock.into_iter().chain(plan.switches).chain(plan.places.clone());
    all.filter(move |planned| planned.placement == placement)
}
