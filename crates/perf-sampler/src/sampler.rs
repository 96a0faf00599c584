//! The sampler: start, wait, read, finish.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use model::{ProcessId, ThreadId};
use process_view::{Process, Task, TaskState};
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::error::SamplerError;
use crate::events::{self, Events, Tells};
use crate::granted::{Granted, Missing};
use crate::intake::{Asked, Intake, Targets};
use crate::options::{Options, Scope};
use crate::owners::Owners;
use crate::plan::{self, Plan};
use crate::record::{Leaving, OpenWait, Record, Thread, Timestamp};
use crate::ring::{Rings, Until};
use crate::sieve::Sieve;
use crate::switch_rate;
use crate::sys::{self, Kernel, Linux};
use crate::waits::Waits;

/// How long a record may take from its timestamp to the ring. Younger ones are left for the next reading, so that
/// records of all CPUs come in order.
const SETTLING: Duration = Duration::from_millis(2);

/// How often targets without a descriptor to wait for are looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// What was counted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Samples of running threads.
    pub on_cpu: u64,
    /// Stacks of threads that left their CPU.
    pub wait_stacks: u64,
    /// Leavings and comings.
    pub switches: u64,
    /// Leavings and comings whose other half is missing.
    pub unpaired: u64,
    /// Bytes of stack that came with samples.
    pub stack_bytes: u64,
    /// Records that the kernel dropped because a ring was full.
    pub lost: u64,
    /// Times that the kernel held sampling back.
    pub throttled: u64,
    /// Records of processes that were not asked for.
    pub of_others: u64,
    /// Samples among them, which nobody can keep from being taken where the kernel takes no program from us.
    pub samples_of_others: u64,
    /// Samples of memory that nobody asked about.
    pub unasked: u64,
    /// Records that a second event told again.
    pub twice: u64,
    /// Records that were not what they said. Always 0, unless the kernel breaks its word.
    pub broken: u64,
}

/// Why waiting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// A ring fills: read it.
    Data,
    /// The time is over.
    Time,
    /// A signal came: somebody may want it to end.
    Signal,
    /// All targets have ended. What they did last can still be read.
    TargetsEnded,
}

/// What there is to say at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// What was counted.
    pub counts: Counts,
    /// From the first moment to the last.
    pub started: Timestamp,
    /// The last moment.
    pub ended: Timestamp,
    /// CPU time that each target used in between, by the scheduler's own count. Samples times period is a little
    /// less when the machine is busy: ticks merge. For one that ended, up to the last reading that saw it.
    pub cpu_time: BTreeMap<ProcessId, Duration>,
}

/// A target as the sampler follows it.
#[derive(Debug)]
struct Followed {
    /// Becomes readable when the process ends; `None` where the kernel cannot say.
    ending: Option<OwnedFd>,
    ended: bool,
    cpu_at_start: Duration,
    cpu_last: Duration,
}

/// Samples threads until it is dropped or finished.
pub struct Sampler {
    kernel: Box<dyn Kernel>,
    plan: Plan,
    granted: Granted,
    rings: Rings,
    events: Events,
    sieve: Option<Sieve>,
    intake: Intake,
    followed: BTreeMap<ProcessId, Followed>,
    started: Timestamp,
}

impl std::fmt::Debug for Sampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sampler").field("granted", &self.granted).finish_non_exhaustive()
    }
}

/// What a sampler with these options would be granted. Starts nothing.
pub fn preflight(options: &Options) -> Result<Granted, SamplerError> {
    preflight_with(&Linux, options)
}

pub(crate) fn preflight_with(kernel: &dyn Kernel, options: &Options) -> Result<Granted, SamplerError> {
    check_targets(options)?;
    // How often the target switches is looked at when it starts.
    let plan = plan::plan(kernel, options, 1)?;
    let wanted = events::ring_size(&plan, options.ring_memory, options.stack_bytes);
    let (rings, smaller) = events::rings(kernel, &plan.facts, wanted)?;
    Ok(granted(&plan, &Rings::new(rings), smaller))
}

fn check_targets(options: &Options) -> Result<(), SamplerError> {
    let Scope::Processes(processes) = &options.scope else { return Ok(()) };
    let first = *processes.first().ok_or(SamplerError::NoTarget)?;
    if processes.iter().any(|process| Process::new(*process).is_alive()) {
        Ok(())
    } else {
        Err(SamplerError::NoSuchProcess { process: first })
    }
}

fn granted(plan: &Plan, rings: &Rings, smaller: Option<Missing>) -> Granted {
    Granted {
        on_cpu: plan.clock.or_else(|| plan.places.first().copied()).map(|planned| planned.placement),
        off_cpu: plan.off_cpu,
        kernel: plan.kernel,
        rate_hz: plan.rate_hz,
        period: plan.period,
        cpus: rings.rings.len(),
        ring_bytes: rings.rings.first().map_or(0, |ring| ring.memory.size()),
        wait_stack_every: plan.stack_every,
        max_frames: plan.max_frames,
        missing: plan.missing.iter().cloned().chain(smaller).collect(),
    }
}

impl Sampler {
    /// Begins to sample.
    pub fn start(options: &Options) -> Result<Sampler, SamplerError> {
        Sampler::start_with(Box::new(Linux), options)
    }

    pub(crate) fn start_with(kernel: Box<dyn Kernel>, options: &Options) -> Result<Sampler, SamplerError> {
        check_targets(options)?;
        let every = if options.collect.off_cpu() { switch_rate::stack_every(options) } else { 1 };
        let plan = plan::plan(kernel.as_ref(), options, every)?;
        let wanted = events::ring_size(&plan, options.ring_memory, options.stack_bytes);
        let (rings, smaller) = events::rings(kernel.as_ref(), &plan.facts, wanted)?;
        let rings = Rings::new(rings);
        let granted = granted(&plan, &rings, smaller);
        let mut events = Events::default();
        let sieve = Sieve::new(options);
        events.watch_cpus(kernel.as_ref(), &plan, &rings.rings, sieve.as_ref())?;
        let intake = Intake {
            targets: Targets::new(&options.scope, options.children),
            owners: Owners::default(),
            waits: None,
            counts: Counts::default(),
            period: plan.period,
            max_frames: usize::try_from(plan.max_frames).unwrap_or(usize::MAX),
            asked: Asked::of(&options.trigger),
        };
        let mut sampler = Sampler {
            kernel,
            plan,
            granted,
            rings,
            events,
            sieve,
            intake,
            followed: BTreeMap::new(),
            started: Timestamp::now(),
        };
        let processes: Vec<ProcessId> = sampler.intake.targets.processes.iter().flatten().copied().collect();
        let mut refused = None;
        for process in &processes {
            refused = sampler.put_into(*process).or(refused);
        }
        // An event may be granted alone, but not together with the others in one thread.
        if let Some(missing) = refused.filter(|_| sampler.events.descriptors.is_empty()) {
            return Err(SamplerError::Refused { cause: missing.cause, remedies: missing.remedies });
        }
        sampler.started = Timestamp::now();
        let everybody = options.scope == Scope::Machine;
        sampler.intake.waits = sampler.plan.off_cpu.map(|_| Waits::new(sampler.started, everybody));
        sampler.events.enable_from(0);
        for process in processes {
            sampler.know_threads(process, sampler.started);
            sampler.follow(process);
        }
        Ok(sampler)
    }

    /// What it can show, and what not.
    #[must_use]
    pub fn granted(&self) -> &Granted {
        &self.granted
    }

    /// When it began.
    #[must_use]
    pub fn started(&self) -> Timestamp {
        self.started
    }

    /// What was counted so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let unpaired = self.intake.waits.as_ref().map_or(0, |waits| waits.unpaired);
        Counts { unpaired, broken: self.intake.counts.broken + self.rings.broken, ..self.intake.counts }
    }

    /// Waits that go on, as far as records were read. Nothing when waits were not asked for.
    pub fn waiting(&self) -> impl Iterator<Item = OpenWait> + '_ {
        self.intake.waits.iter().flat_map(Waits::waiting)
    }

    /// Descriptors that are open for it.
    #[must_use]
    pub fn descriptors(&self) -> usize {
        self.events.descriptors.len() + self.rings.rings.len()
    }

    /// Samples this process too from now on. Says what of it cannot be reached, if anything.
    pub fn add(&mut self, process: ProcessId) -> Option<Missing> {
        let processes = self.intake.targets.processes.as_mut()?;
        if !processes.insert(process) {
            return None;
        }
        if let Some(sieve) = &self.sieve {
            sieve.let_through(process);
        }
        let first = self.events.descriptors.len();
        let missing = self.put_into(process);
        let now = Timestamp::now();
        self.events.enable_from(first);
        self.know_threads(process, now);
        self.follow(process);
        missing
    }

    /// Puts events into the threads of a process, where the plan has such events.
    fn put_into(&mut self, process: ProcessId) -> Option<Missing> {
        let known = self.events.threads.len();
        let missing = self.events.watch_process(self.kernel.as_ref(), &self.plan, &self.rings.rings, process);
        for thread in self.events.threads.iter().skip(known) {
            self.intake.owners.attached(*thread);
        }
        self.granted.missing.extend(missing.clone());
        missing
    }

    /// The threads a process has when it is first looked at; of others, records tell.
    fn know_threads(&mut self, process: ProcessId, since: Timestamp) {
        let Some(waits) = &mut self.intake.waits else { return };
        for task in Process::new(process).tasks().unwrap_or_default() {
            let ready = task.stat().is_ok_and(|stat| stat.state == TaskState::Running);
            let leaving = if ready { Leaving::Preempted } else { Leaving::Unknown };
            waits.present(Thread { process, id: task.id }, since, leaving);
        }
    }

    /// Watches a process's CPU time and its end.
    fn follow(&mut self, process: ProcessId) {
        let pid = i32::try_from(process.0).ok().and_then(rustix::process::Pid::from_raw);
        let ending =
            pid.and_then(|pid| rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok());
        let now = sys::cpu_time(process);
        let cpu = now.unwrap_or_default();
        let ended = ending.is_none() && !Process::new(process).is_alive();
        self.followed.insert(process, Followed { ending, ended, cpu_at_start: cpu, cpu_last: cpu });
    }

    /// Waits until a ring is to be read, the targets have ended, or this time is over.
    pub fn wait(&mut self, time: Duration) -> Result<Wake, SamplerError> {
        let mut time = time;
        for (process, followed) in &mut self.followed {
            if followed.ending.is_none() && !followed.ended {
                followed.ended = !Process::new(*process).is_alive();
                time = time.min(LOOK_AGAIN);
            }
        }
        if self.targets_ended() {
            return Ok(Wake::TargetsEnded);
        }
        let alive: Vec<ProcessId> =
            self.followed.iter().filter(|(_, one)| !one.ended).map(|(id, _)| *id).collect();
        let mut waited: Vec<PollFd<'_>> =
            self.rings.rings.iter().map(|ring| PollFd::new(&ring.owner, PollFlags::IN)).collect();
        let rings = waited.len();
        let mut endings = Vec::new();
        for process in alive {
            if let Some(ending) = self.followed.get(&process).and_then(|one| one.ending.as_ref()) {
                waited.push(PollFd::from_borrowed_fd(ending.as_fd(), PollFlags::IN));
                endings.push(process);
            }
        }
        let timeout = Timespec::try_from(time).unwrap_or(Timespec { tv_sec: 3600, tv_nsec: 0 });
        match rustix::event::poll(&mut waited, Some(&timeout)) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Wake::Signal),
            Err(errno) => {
                return Err(SamplerError::System { doing: "wait for samples", source: errno.into() });
            }
        }
        let ready: Vec<bool> = waited.iter().map(|one| !one.revents().is_empty()).collect();
        let (data, ended) = ready.split_at_checked(rings).unwrap_or_default();
        for (process, _) in endings.iter().zip(ended).filter(|(_, ended)| **ended) {
            if let Some(one) = self.followed.get_mut(process) {
                one.ended = true;
            }
        }
        if self.targets_ended() {
            return Ok(Wake::TargetsEnded);
        }
        Ok(if data.contains(&true) { Wake::Data } else { Wake::Time })
    }

    /// Whether every target has ended. The whole machine never has.
    #[must_use]
    pub fn targets_ended(&self) -> bool {
        !self.followed.is_empty() && self.followed.values().all(|one| one.ended)
    }

    /// Tells what has come since the last time, in the order of time, and does not wait. The last 2 milliseconds are
    /// left for the next time.
    pub fn read(&mut self, tell: &mut dyn FnMut(&Record<'_>)) {
        let settled = Timestamp::now().0.saturating_sub(u64::try_from(SETTLING.as_nanos()).unwrap_or(0));
        self.drain(Until::Time(Timestamp(settled)), tell);
        for process in std::mem::take(&mut self.intake.targets.born) {
            self.follow_child(process);
        }
        self.look_at_clocks();
    }

    fn follow_child(&mut self, process: ProcessId) {
        self.follow(process);
        if let Some(one) = self.followed.get_mut(&process) {
            // All it used, it used under our eyes.
            one.cpu_at_start = Duration::ZERO;
        }
    }

    fn look_at_clocks(&mut self) {
        for (process, one) in &mut self.followed {
            if let Some(now) = sys::cpu_time(*process) {
                one.cpu_last = one.cpu_last.max(now);
            }
        }
    }

    fn drain(&mut self, until: Until, tell: &mut dyn FnMut(&Record<'_>)) {
        let events = &self.events;
        let intake = &mut self.intake;
        let leaves = |id: u64| events.role_of_sample(id).is_some_and(|role| role.tells == Tells::Leaving);
        self.rings.drain(until, &leaves, &mut |bytes, behind| intake.take(bytes, behind, events, tell));
    }

    /// Stops, tells the rest, and adds up.
    pub fn finish(mut self, tell: &mut dyn FnMut(&Record<'_>)) -> Summary {
        self.look_at_clocks();
        self.events.disable();
        let ended = Timestamp::now();
        self.drain(Until::End, tell);
        let counts = self.counts();
        if let Some(waits) = &mut self.intake.waits {
            let tasks: HashMap<ThreadId, Task> = self
                .followed
                .keys()
                .flat_map(|process| Process::new(*process).tasks().unwrap_or_default())
                .map(|task| (task.id, task))
                .collect();
            for wait in waits.open(ended, &|thread| tasks.get(&thread.id).is_some_and(waits_now)) {
                tell(&Record::OffCpu(wait));
            }
        }
        let cpu_time = self
            .followed
            .iter()
            .map(|(process, one)| (*process, one.cpu_last.saturating_sub(one.cpu_at_start)))
            .collect();
        Summary { counts, started: self.started, ended, cpu_time }
    }
}

/// Whether a thread that was never seen to leave its CPU was not on one at all.
fn waits_now(task: &Task) -> bool {
    let over = [TaskState::Running, TaskState::Zombie, TaskState::Dead];
    task.stat().is_ok_and(|stat| !over.contains(&stat.state))
}

/// A sampler may be driven by a thread of its own.
const fn moves_between_threads<T: Send>() {}
const _: () = moves_between_threads::<Sampler>();
