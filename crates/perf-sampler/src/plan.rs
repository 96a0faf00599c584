//! Which events to open: the most that the kernel grants, found by asking it.

use std::time::Duration;

use model::ProcessId;
use process_view::Process;
use rustix::io::Errno;

use crate::attr::{
    ABOUT_PROCESSES, Attr, BUILD_ID, CONTEXT_SWITCH, EXCLUDE_CALLCHAIN_KERNEL, EXCLUDE_KERNEL, INHERIT,
    INHERIT_THREAD, NEWER,
};
use crate::error::SamplerError;
use crate::facts::Facts;
use crate::granted::{KernelSide, Missing, OffCpu, Part};
use crate::options::{Children, Collect, KernelFrames, Options, Placement, PlacementWish, Scope, Trigger};
use crate::refusal::{self, Asked};
use crate::sys::{Kernel, Watched};

/// Where the kernel cuts a stack when it does not say.
const USUAL_MAX_FRAMES: u32 = 127;

/// Most bytes of a stack that fit into a record beside the rest of a sample.
const MOST_STACK_BYTES: u32 = 56 << 10;

const SECOND: u64 = 1_000_000_000;

/// One kind of event and where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) attr: Attr,
    pub(crate) placement: Placement,
}

/// What will be opened, and what that cannot show.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) facts: Facts,
    /// Fires while threads run.
    pub(crate) clock: Option<Planned>,
    /// Tells of threads that leave and come back; `None` also when the clock tells of it.
    pub(crate) switches: Option<Planned>,
    /// Fire when threads come to places.
    pub(crate) places: Vec<Planned>,
    pub(crate) off_cpu: Option<OffCpu>,
    pub(crate) kernel: KernelSide,
    pub(crate) rate_hz: u32,
    pub(crate) period: Duration,
    pub(crate) max_frames: u32,
    pub(crate) stack_every: u32,
    pub(crate) missing: Vec<Missing>,
}

/// Asks the kernel what it grants.
pub(crate) fn plan(kernel: &dyn Kernel, options: &Options, stack_every: u32) -> Result<Plan, SamplerError> {
    if options.rate_hz == 0 {
        return Err(SamplerError::NoRate);
    }
    let facts = kernel.facts();
    let mut missing = Vec::new();
    let rate_hz = facts.max_rate.map_or(options.rate_hz, |limit| options.rate_hz.min(limit.max(1)));
    if rate_hz < options.rate_hz {
        let (cause, remedies) = refusal::rate(rate_hz, options.rate_hz);
        missing.push(Missing { part: Part::Rate { wanted: options.rate_hz, got: rate_hz }, cause, remedies });
    }
    let period_ns = SECOND / u64::from(rate_hz);
    let stack = stack_bytes(options.stack_bytes);
    let (clock, period_ns) = match &options.trigger {
        Trigger::Time => (Attr::cpu_clock(period_ns, stack), period_ns),
        // A nanosecond of weight for each byte.
        Trigger::NewMemory { every, .. } => {
            let every = u64::from(*every);
            (Attr::page_faults(every, stack), every.saturating_mul(rustix::param::page_size() as u64))
        }
    };
    let clock = clock.with(frames(options));
    let mut asking =
        Asking { kernel, facts: &facts, cpu: facts.cpus.first().copied().unwrap_or(0), unknown: 0 };
    asking.anything()?;
    if options.collect == Collect::Places {
        let places = places(&mut asking, options)?;
        let max_frames = facts.max_frames.unwrap_or(USUAL_MAX_FRAMES);
        return Ok(Plan {
            facts,
            clock: None,
            switches: None,
            places,
            off_cpu: None,
            kernel: KernelSide::Hidden,
            rate_hz,
            period: Duration::from_nanos(period_ns),
            max_frames,
            stack_every,
            missing,
        });
    }
    let clock_at = place_clock(&mut asking, clock, options, &mut missing)?;
    // Waits of single processes are watched in their threads: on a CPU, the stacks of every other process that
    // leaves it would be copied too.
    let waits_at = if options.scope == Scope::Machine { Placement::PerCpu } else { Placement::PerThread };
    let threads_used = options.collect.on_cpu() && clock_at == Placement::PerThread
        || options.collect.off_cpu() && waits_at == Placement::PerThread;
    let kernel_side = match &options.scope {
        Scope::Processes(processes) if threads_used => {
            let probe = clock.with(ABOUT_PROCESSES | BUILD_ID | inherit(options));
            match asking.threads(probe, processes.iter().copied())? {
                Ok(()) => KernelSide::Seen,
                Err(refusal) => {
                    if clock_at == Placement::PerThread {
                        missing.push(refusal.missing(Part::KernelSide));
                    }
                    if options.collect.off_cpu() {
                        missing.push(refusal.missing(Part::WaitStacks));
                    }
                    KernelSide::Hidden
                }
            }
        }
        _ => KernelSide::Seen,
    };
    let unknown = asking.unknown;

    let (mut clock, mut switches, off_cpu) =
        choose(options, stack_every, Planned { attr: clock, placement: clock_at }, waits_at, kernel_side);
    let mut about = ABOUT_PROCESSES | BUILD_ID;
    for planned in clock.iter_mut().chain(switches.iter_mut()) {
        let mut flags = std::mem::take(&mut about);
        if planned.placement == Placement::PerThread {
            flags |= inherit(options);
            if kernel_side == KernelSide::Hidden {
                flags |= EXCLUDE_KERNEL;
            }
        }
        planned.attr = planned.attr.with(flags).without(unknown);
    }
    let max_frames = facts.max_frames.unwrap_or(USUAL_MAX_FRAMES);
    let period = Duration::from_nanos(period_ns);
    Ok(Plan {
        facts,
        clock,
        switches,
        places: Vec::new(),
        off_cpu,
        kernel: kernel_side,
        rate_hz,
        period,
        max_frames,
        stack_every,
        missing,
    })
}

/// Events for places, which have a meaning within one process only, so that they go into its threads.
fn places(asking: &mut Asking<'_>, options: &Options) -> Result<Vec<Planned>, SamplerError> {
    let Scope::Processes(processes) = &options.scope else { return Err(SamplerError::NoTarget) };
    let mut about = ABOUT_PROCESSES | BUILD_ID;
    let mut planned = Vec::new();
    for place in &options.places {
        let attr = Attr::execution(*place, stack_bytes(options.stack_bytes));
        let attr = attr.with(std::mem::take(&mut about) | inherit(options));
        // The kernel's side is not asked for, so the inner answer is always yes.
        let _ = asking.threads(attr, processes.iter().copied())?;
        planned.push(Planned { attr: attr.without(asking.unknown), placement: Placement::PerThread });
    }
    Ok(planned)
}

/// Where the clock goes: on the CPUs if that is granted and wanted.
fn place_clock(
    asking: &mut Asking<'_>,
    clock: Attr,
    options: &Options,
    missing: &mut Vec<Missing>,
) -> Result<Placement, SamplerError> {
    let probe = clock.with(ABOUT_PROCESSES | BUILD_ID);
    match (&options.scope, options.placement) {
        (Scope::Machine, _) => {
            asking.all_processes(probe).map_err(Refusal::into_error)?;
            Ok(Placement::PerCpu)
        }
        (Scope::Processes(_), PlacementWish::Best) if options.collect.on_cpu() => {
            let Err(refusal) = asking.all_processes(probe) else { return Ok(Placement::PerCpu) };
            missing.push(refusal.missing(Part::LowCost));
            Ok(Placement::PerThread)
        }
        (Scope::Processes(_), _) => Ok(Placement::PerThread),
    }
}

/// The events for what is asked and granted: a clock, an event for switches, and what the latter can tell.
fn choose(
    options: &Options,
    stack_every: u32,
    clock: Planned,
    waits_at: Placement,
    kernel_side: KernelSide,
) -> (Option<Planned>, Option<Planned>, Option<OffCpu>) {
    let mut clock = options.collect.on_cpu().then_some(clock);
    if !options.collect.off_cpu() {
        return (clock, None, None);
    }
    if kernel_side == KernelSide::Seen {
        let attr = Attr::context_switches(u64::from(stack_every), stack_bytes(options.wait_stack_bytes))
            .with(frames(options));
        return (clock, Some(Planned { attr, placement: waits_at }), Some(OffCpu::WithStacks(waits_at)));
    }
    // One more event in each thread would cost more at each switch; a clock that is there can tell of switches too.
    if let Some(planned) = clock.as_mut().filter(|planned| planned.placement == Placement::PerThread) {
        planned.attr = planned.attr.with(CONTEXT_SWITCH);
        return (clock, None, Some(OffCpu::TimesOnly));
    }
    let times = Planned { attr: Attr::switch_times(), placement: Placement::PerThread };
    (clock, Some(times), Some(OffCpu::TimesOnly))
}

fn frames(options: &Options) -> u64 {
    if options.kernel_frames == KernelFrames::Unwanted { EXCLUDE_CALLCHAIN_KERNEL } else { 0 }
}

/// Children inherit what threads have, unless told otherwise.
fn inherit(options: &Options) -> u64 {
    match options.children {
        Children::Followed => INHERIT,
        Children::Ignored => INHERIT | INHERIT_THREAD,
    }
}

/// The kernel wants a multiple of 8.
fn stack_bytes(wanted: u32) -> u32 {
    wanted.min(MOST_STACK_BYTES).next_multiple_of(8)
}

/// Why something was not granted.
#[derive(Clone, Debug)]
struct Refusal {
    cause: crate::granted::Cause,
    remedies: Vec<crate::granted::Remedy>,
}

impl Refusal {
    fn missing(&self, part: Part) -> Missing {
        Missing { part, cause: self.cause.clone(), remedies: self.remedies.clone() }
    }

    fn into_error(self) -> SamplerError {
        SamplerError::Refused { cause: self.cause, remedies: self.remedies }
    }
}

/// Opens events to see whether it may, and closes them at once.
struct Asking<'a> {
    kernel: &'a dyn Kernel,
    facts: &'a Facts,
    cpu: i32,
    /// Flags that this kernel does not know.
    unknown: u64,
}

impl Asking<'_> {
    fn refusal(&self, errno: Errno, asked: Asked) -> Refusal {
        let (cause, remedies) = refusal::explain(errno, asked, self.facts);
        Refusal { cause, remedies }
    }

    /// The least: if this is refused, everything is.
    fn anything(&self) -> Result<(), SamplerError> {
        let ourselves = Watched { thread: 0, cpu: self.cpu };
        match self.kernel.open(&Attr::ring_owner(1), ourselves) {
            Ok(_) => Ok(()),
            Err(errno) => Err(self.refusal(errno, Asked::Anything).into_error()),
        }
    }

    /// Tries an event, and leaves out flags that the kernel is too old for.
    fn open(&mut self, attr: Attr, thread: i32) -> Result<(), Errno> {
        let watched = Watched { thread, cpu: self.cpu };
        let all = NEWER.into_iter().fold(0, |all, flag| all | flag);
        for unknown in [self.unknown].into_iter().chain(NEWER.map(|flag| self.unknown | flag)) {
            match self.kernel.open(&attr.without(unknown), watched) {
                Ok(_) => {
                    self.unknown = unknown;
                    return Ok(());
                }
                Err(Errno::INVAL) => {}
                Err(errno) => return Err(errno),
            }
        }
        self.kernel.open(&attr.without(all), watched)?;
        self.unknown = all;
        Ok(())
    }

    /// All processes of a CPU.
    fn all_processes(&mut self, attr: Attr) -> Result<(), Refusal> {
        self.open(attr, -1).map_err(|errno| self.refusal(errno, Asked::AllProcesses))
    }

    /// The threads of one of these processes; the inner answer is about its kernel side.
    fn threads(
        &mut self,
        attr: Attr,
        processes: impl Iterator<Item = ProcessId>,
    ) -> Result<Result<(), Refusal>, SamplerError> {
        let mut gone = SamplerError::NoTarget;
        for process in processes {
            // The first thread of a process may have ended before the others.
            for task in Process::new(process).tasks().unwrap_or_default() {
                let Ok(thread) = i32::try_from(task.id.0) else { continue };
                match self.thread(attr, thread, process) {
                    Err(SamplerError::NoSuchProcess { .. }) => {}
                    answer => return answer,
                }
            }
            gone = SamplerError::NoSuchProcess { process };
        }
        Err(gone)
    }

    fn thread(
        &mut self,
        attr: Attr,
        thread: i32,
        process: ProcessId,
    ) -> Result<Result<(), Refusal>, SamplerError> {
        let whole = match self.open(attr, thread) {
            Ok(()) => return Ok(Ok(())),
            Err(Errno::SRCH) => return Err(SamplerError::NoSuchProcess { process }),
            Err(errno) => errno,
        };
        match self.open(attr.with(EXCLUDE_KERNEL), thread) {
            Ok(()) => Ok(Err(self.refusal(whole, Asked::KernelSide))),
            Err(Errno::SRCH) => Err(SamplerError::NoSuchProcess { process }),
            Err(errno) => Err(self.refusal(errno, Asked::Process(process)).into_error()),
        }
    }
}

#[cfg(test)]
mod tests;
