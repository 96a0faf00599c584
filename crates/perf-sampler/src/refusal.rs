//! From an error number to a cause and what would help.

use model::ProcessId;
use rustix::io::Errno;

use crate::facts::Facts;
use crate::granted::{Cause, Remedy};

/// What was asked for when the kernel refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The least there is: an event of our own that never fires.
    Anything,
    /// To watch all processes on a CPU.
    AllProcesses,
    /// To see kernel code of one's own process.
    KernelSide,
    /// To watch user code of a process.
    Process(ProcessId),
}

impl Asked {
    /// The highest `kernel.perf_event_paranoid` at which an ordinary user gets it.
    fn paranoid_needed(self) -> i64 {
        match self {
            Asked::AllProcesses => 0,
            Asked::KernelSide => 1,
            Asked::Anything | Asked::Process(_) => 2,
        }
    }
}

/// Why, and what would help.
pub(crate) fn explain(errno: Errno, asked: Asked, facts: &Facts) -> (Cause, Vec<Remedy>) {
    match errno {
        Errno::NOSYS => (Cause::NotInKernel, Vec::new()),
        Errno::MFILE | Errno::NFILE => descriptors(facts),
        Errno::NOMEM => (Cause::OutOfMemory, Vec::new()),
        Errno::PERM | Errno::ACCESS => forbidden(asked, facts),
        other => (Cause::Other { message: std::io::Error::from(other).to_string() }, Vec::new()),
    }
}

fn forbidden(asked: Asked, facts: &Facts) -> (Cause, Vec<Remedy>) {
    let needed = asked.paranoid_needed();
    let too_high = facts.paranoid.is_none_or(|value| value > needed);
    if facts.inner_user_namespace && facts.capabilities != 0 && facts.user == 0 {
        return (Cause::UserNamespace, vec![Remedy::OutsideNamespace]);
    }
    if asked == Asked::Anything && facts.filtered {
        return (Cause::Filtered, vec![Remedy::ContainerCapability]);
    }
    if !facts.may_watch_all() && too_high {
        let setting = Remedy::Setting { name: "kernel.perf_event_paranoid", value: needed };
        return (
            Cause::Paranoid { value: facts.paranoid, needed },
            vec![Remedy::Root, capability(), setting],
        );
    }
    match asked {
        Asked::Process(process) if !facts.may_watch_all() => {
            (Cause::OtherUser { process }, vec![Remedy::SameUser { process }, Remedy::Root, capability()])
        }
        _ if facts.filtered => (Cause::Filtered, vec![Remedy::ContainerCapability]),
        _ => (Cause::SecurityModule, Vec::new()),
    }
}

/// Why a ring was refused.
pub(crate) fn ring(errno: Errno, facts: &Facts, wanted: usize) -> (Cause, Vec<Remedy>) {
    if errno != Errno::PERM || facts.may_lock_memory() {
        return explain(errno, Asked::Anything, facts);
    }
    // Others of this user may use up what there is, so this comes on top.
    let ring = wanted as u64;
    let all = ring.saturating_mul(facts.cpus.len() as u64).saturating_add(facts.lock_limit.unwrap_or(0));
    let per_cpu = facts.ring_kb.unwrap_or(0).saturating_add(ring.div_ceil(1024));
    let setting = Remedy::Setting {
        name: "kernel.perf_event_mlock_kb",
        value: i64::try_from(per_cpu).unwrap_or(i64::MAX),
    };
    let remedies = vec![Remedy::Limit { name: "memlock", value: all }, setting, Remedy::Root];
    (Cause::LockedMemory { limit: facts.lock_limit, ring_kb: facts.ring_kb }, remedies)
}

/// Why a thread got no event although its neighbours did.
pub(crate) fn descriptors(facts: &Facts) -> (Cause, Vec<Remedy>) {
    let twice = facts.descriptor_limit.unwrap_or(1024).saturating_mul(2);
    let remedies = vec![Remedy::Limit { name: "nofile", value: twice }, Remedy::Root, capability()];
    (Cause::Descriptors { limit: facts.descriptor_limit }, remedies)
}

/// What a faster rate would need.
pub(crate) fn rate(limit: u32, wanted: u32) -> (Cause, Vec<Remedy>) {
    let setting = Remedy::Setting { name: "kernel.perf_event_max_sample_rate", value: i64::from(wanted) };
    (Cause::RateLimit { limit }, vec![setting])
}

fn capability() -> Remedy {
    let program =
        std::env::current_exe().map_or_else(|_| "drdotnet".to_owned(), |path| path.display().to_string());
    Remedy::Capability { program }
}
