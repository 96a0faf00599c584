//! Which way is taken, what is missing from the picture, and what would add it.

use discovery::DotnetProcess;
use kernel_collector::Target;
use perf_sampler::{
    Cause, Collect, Granted, KernelSide, Missing, OffCpu, Part, Remedy, SamplerError, preflight,
};

use super::plan::Plan;
use crate::commands::ps::reach_words;
use crate::explain::Failure;
use crate::layout::hanging;

/// Where samples come from.
pub enum Way {
    /// The kernel.
    Kernel(Granted),
    /// The runtime, because the kernel does not give them.
    Runtime(Refusal),
}

/// Why the kernel does not give what is wanted.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub cause: String,
    /// Each alone is enough.
    pub remedies: Vec<String>,
}

impl Refusal {
    fn new(cause: &impl ToString, remedies: &[Remedy]) -> Refusal {
        Refusal { cause: cause.to_string(), remedies: remedies.iter().map(ToString::to_string).collect() }
    }
}

/// The best way that this user has. Nothing is started.
pub fn choose(plan: &Plan, processes: &[DotnetProcess]) -> Result<Way, Failure> {
    if let Some(hidden) = processes.iter().find(|process| !process.visible) {
        return Ok(Way::Runtime(Refusal {
            cause: format!("process {} lives in a pid namespace that is not ours", hidden.pid),
            remedies: vec![
                "share the pid namespace: docker --pid=container:NAME, or shareProcessNamespace in a pod"
                    .to_owned(),
            ],
        }));
    }
    let request = plan.request(processes.iter().map(|process| Target::from(process.pid)).collect());
    match preflight(&request.sampling) {
        Ok(granted) => Ok(match without_stacks(&granted) {
            // How long threads wait is no picture of where they do. Beside time on the CPU it is better than nothing.
            Some(missing)
                if request.sampling.collect == Collect::OffCpu && !processes.iter().all(can_be_read) =>
            {
                let mut refusal = Refusal::new(&missing.cause, &missing.remedies);
                refusal.remedies.extend(yama());
                Way::Runtime(refusal)
            }
            _ => Way::Kernel(granted),
        }),
        Err(SamplerError::Refused { cause, remedies } | SamplerError::NoRing { cause, remedies, .. }) => {
            Ok(Way::Runtime(Refusal::new(&cause, &remedies)))
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether this user may look at its threads while they wait, which reads their stacks from its memory.
fn can_be_read(process: &DotnetProcess) -> bool {
    std::fs::File::open(format!("/proc/{}/mem", process.pid)).is_ok()
}

/// What would let this user look, where a security module forbids it.
fn yama() -> Option<String> {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok()?;
    (scope.trim() != "0").then(|| "sudo sysctl kernel.yama.ptrace_scope=0".to_owned())
}

/// Why waits have no stacks, if they are to be timed only.
fn without_stacks(granted: &Granted) -> Option<&Missing> {
    let timed = granted.off_cpu == Some(OffCpu::TimesOnly);
    granted.missing.iter().find(|missing| timed && missing.part == Part::WaitStacks)
}

/// What the kernel gives, for the user.
pub fn granted_words(granted: &Granted, processes: &[DotnetProcess], width: Option<usize>) -> String {
    let looks = without_stacks(granted).is_some() && processes.iter().all(can_be_read);
    let code = match granted.kernel {
        KernelSide::Seen => "user and kernel code",
        KernelSide::Hidden => "user code only",
    };
    let mut words = vec!["the kernel".to_owned()];
    if granted.on_cpu.is_some() {
        words.push(format!("{} times a second for each running thread", granted.rate_hz));
    }
    match granted.off_cpu {
        Some(OffCpu::WithStacks(_)) => words.push("at every wait".to_owned()),
        Some(OffCpu::TimesOnly) if looks => words.push("with a look at threads that wait".to_owned()),
        Some(OffCpu::TimesOnly) => words.push("with the length of every wait".to_owned()),
        None => {}
    }
    let mut text = labelled("sampled by", &format!("{}; {code}", words.join(", ")), width);
    for (parts, missing) in grouped(&granted.missing) {
        for part in parts {
            let part =
                if looks && part == Part::WaitStacks { SHORT_WAITS.to_owned() } else { part.to_string() };
            text += &labelled("missing", &part, width);
        }
        text += &labelled("because", &missing.cause.to_string(), width);
        text += &remedy_lines(missing.remedies.iter().map(ToString::to_string), width);
    }
    text
}

/// Whose runtime does not tell names, and why.
pub fn nameless_words(processes: &[DotnetProcess], width: Option<usize>) -> String {
    let mut text = String::new();
    for process in processes {
        if let Some(reason) = reach_words(process) {
            let instead = "read from its memory, as far as that can be done; its runtime is not asked";
            text += &labelled("names", &format!("of process {}: {instead}", process.pid), width);
            text += &labelled("because", &reason, width);
        }
    }
    text
}

/// The same when the runtime stands in for the kernel.
pub fn refused_words(refusal: &Refusal, profiler: &str, width: Option<usize>) -> String {
    let mut text = labelled("sampled by", &format!("the runtime (profiler {profiler})"), width);
    text += &labelled("missing", NO_KERNEL, width);
    text += &labelled("because", &refusal.cause, width);
    text + &remedy_lines(refusal.remedies.iter().cloned(), width)
}

/// What is missing of waits whose threads are looked at.
const SHORT_WAITS: &str =
    "the stacks of most short waits: threads are looked at while they wait, 20 times a second";

/// What a picture by the runtime's samples lacks.
const NO_KERNEL: &str = "frames of native code and of the kernel, and the flame graph";

/// The same as one note of a report.
pub fn refused_note(refusal: &Refusal) -> String {
    let mut note = format!(
        "The samples are the runtime's, because the kernel's are not to be had: {}. Missing: {NO_KERNEL}.",
        refusal.cause
    );
    if !refusal.remedies.is_empty() {
        note += &format!(" To add it: {}.", refusal.remedies.join(", or "));
    }
    note
}

/// Gaps that one remedy fills, with the one of them that needs most.
fn grouped(missing: &[Missing]) -> Vec<(Vec<Part>, &Missing)> {
    let mut groups: Vec<(Vec<Part>, &Missing)> = Vec::new();
    // What costs the target something comes behind what is not seen.
    let (last, first): (Vec<&Missing>, Vec<&Missing>) =
        missing.iter().partition(|missing| missing.part == Part::LowCost);
    for one in first.into_iter().chain(last) {
        match groups.iter_mut().find(|(_, known)| is_same_kind(&known.cause, &one.cause)) {
            Some((parts, known)) => {
                parts.push(one.part);
                if needed(&one.cause) < needed(&known.cause) {
                    *known = one;
                }
            }
            None => groups.push((vec![one.part], one)),
        }
    }
    groups
}

fn is_same_kind(one: &Cause, other: &Cause) -> bool {
    one == other || needed(one).is_some() && needed(other).is_some()
}

/// The highest `kernel.perf_event_paranoid` that would do, when it is that.
fn needed(cause: &Cause) -> Option<i64> {
    match cause {
        Cause::Paranoid { needed, .. } => Some(*needed),
        _ => None,
    }
}

fn remedy_lines(remedies: impl Iterator<Item = String>, width: Option<usize>) -> String {
    let lines = remedies.enumerate();
    lines
        .map(|(place, remedy)| labelled(if place == 0 { "to add it" } else { "or" }, &remedy, width))
        .collect()
}

/// A line with a word before it.
fn labelled(label: &str, text: &str, width: Option<usize>) -> String {
    const INDENT: usize = 12;
    format!("{label:>10}: {}\n", hanging(INDENT, &reports::printable(text), width))
}
