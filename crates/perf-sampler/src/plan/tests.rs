//! Kernels that refuse: what is still granted, and how each refusal is explained.

use std::fmt::Write as _;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::attr::DUMMY;
use crate::granted::{Cause, Granted, Remedy};
use crate::sampler::{Sampler, preflight_with};
use crate::sys::{Linux, RingMemory};

/// A kernel that refuses some events and rings, and otherwise opens harmless ones of our own thread.
struct Refusing {
    facts: Facts,
    event: fn(&Attr, Watched) -> Option<Errno>,
    largest_ring: usize,
    ring: Errno,
    opened: AtomicUsize,
}

impl Refusing {
    fn new(event: fn(&Attr, Watched) -> Option<Errno>) -> Refusing {
        let facts = Facts {
            paranoid: Some(2),
            max_rate: Some(100_000),
            max_frames: Some(127),
            ring_kb: Some(516),
            lock_limit: Some(8 << 20),
            descriptor_limit: Some(1024),
            user: 1000,
            cpus: vec![0],
            ..Facts::default()
        };
        Refusing { facts, event, largest_ring: usize::MAX, ring: Errno::PERM, opened: AtomicUsize::new(0) }
    }
}

impl Kernel for Refusing {
    fn open(&self, attr: &Attr, watched: Watched) -> Result<OwnedFd, Errno> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        match (self.event)(attr, watched) {
            Some(errno) => Err(errno),
            // Whatever was asked for, this is allowed to everybody.
            None => Linux.open(&Attr::ring_owner(1), Watched { thread: 0, cpu: watched.cpu }),
        }
    }

    fn map(&self, event: BorrowedFd<'_>, data_bytes: usize) -> Result<RingMemory, Errno> {
        if data_bytes > self.largest_ring { Err(self.ring) } else { Linux.map(event, data_bytes) }
    }

    fn raise_descriptor_limit(&self) -> bool {
        false
    }

    fn facts(&self) -> Facts {
        self.facts.clone()
    }
}

const ALL: i32 = -1;

/// As `kernel.perf_event_paranoid` 2 does for a user's own process.
fn ordinary(attr: &Attr, watched: Watched) -> Option<Errno> {
    (watched.thread == ALL || !attr.has(EXCLUDE_KERNEL)).then_some(Errno::ACCESS)
}

/// A process of somebody else: only events of our own are allowed.
fn foreign(attr: &Attr, _: Watched) -> Option<Errno> {
    (attr.config != DUMMY).then_some(Errno::ACCESS)
}

fn ourselves() -> ProcessId {
    ProcessId(std::process::id())
}

fn options() -> Options {
    Options::new(Scope::process(ourselves()))
}

fn both() -> Options {
    Options { collect: crate::options::Collect::Both, ..options() }
}

fn parts(granted: &Granted) -> Vec<Part> {
    granted.missing.iter().map(|missing| missing.part).collect()
}

fn refused(kernel: &Refusing, options: &Options) -> (Cause, Vec<Remedy>) {
    match preflight_with(kernel, options) {
        Err(SamplerError::Refused { cause, remedies }) => (cause, remedies),
        other => panic!("{other:?}"),
    }
}

/// Each place is granted alone, but others use up the processor's breakpoints before it begins.
#[test]
fn a_sampler_that_gets_no_event_at_all_does_not_begin() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let kernel = Refusing::new(|attr, _| {
        (attr.is_execution() && ASKED.fetch_add(1, Ordering::Relaxed) > 0).then_some(Errno::NOSPC)
    });
    let options = Options { collect: Collect::Places, places: vec![0x1000], ..options() };
    let answer = Sampler::start_with(Box::new(kernel), &options);
    let is_said = matches!(&answer, Err(SamplerError::Refused { cause: Cause::Other { .. }, .. }));
    assert!(is_said, "{answer:?}");
}

#[test]
fn all_rights_give_everything() {
    let granted = preflight_with(&Refusing::new(|_, _| None), &both()).unwrap();
    assert_eq!(granted.on_cpu, Some(Placement::PerCpu));
    assert_eq!(granted.off_cpu, Some(OffCpu::WithStacks(Placement::PerThread)));
    assert_eq!((granted.kernel, parts(&granted)), (KernelSide::Seen, vec![]));
}

#[test]
fn an_ordinary_user_gets_user_code_and_times() {
    let kernel = Refusing::new(ordinary);
    let granted = preflight_with(&kernel, &both()).unwrap();
    assert_eq!((granted.on_cpu, granted.off_cpu), (Some(Placement::PerThread), Some(OffCpu::TimesOnly)));
    assert_eq!(granted.kernel, KernelSide::Hidden);
    assert_eq!(parts(&granted), [Part::LowCost, Part::KernelSide, Part::WaitStacks]);
    let plan = plan(&kernel, &both(), 1).unwrap();
    let clock = plan.clock.unwrap().attr;
    assert!(clock.has(EXCLUDE_KERNEL | INHERIT | INHERIT_THREAD | CONTEXT_SWITCH | ABOUT_PROCESSES));
    assert_eq!(plan.switches, None, "the clock tells of switches, no second event is needed");
}

#[test]
fn one_step_more_gives_the_kernel_side_of_own_processes() {
    let mut kernel = Refusing::new(|_, watched| (watched.thread == ALL).then_some(Errno::ACCESS));
    kernel.facts.paranoid = Some(1);
    let granted = preflight_with(&kernel, &both()).unwrap();
    assert_eq!(granted.on_cpu, Some(Placement::PerThread));
    assert_eq!(granted.off_cpu, Some(OffCpu::WithStacks(Placement::PerThread)));
    assert_eq!((granted.kernel, parts(&granted)), (KernelSide::Seen, vec![Part::LowCost]));
}

#[test]
fn times_of_waits_alone_need_an_event_that_never_fires() {
    let options = Options { collect: crate::options::Collect::OffCpu, ..options() };
    let plan = plan(&Refusing::new(ordinary), &options, 1).unwrap();
    assert_eq!(plan.clock, None);
    let switches = plan.switches.unwrap();
    assert_eq!(switches.attr.config, DUMMY, "context-switches would open, and never fire");
    assert!(switches.attr.has(CONTEXT_SWITCH | EXCLUDE_KERNEL | INHERIT | ABOUT_PROCESSES));
}

#[test]
fn flags_that_an_old_kernel_does_not_know_are_left_out() {
    let kernel =
        Refusing::new(|attr, _| (attr.flags & (BUILD_ID | INHERIT_THREAD) != 0).then_some(Errno::INVAL));
    let plan = plan(&kernel, &both(), 1).unwrap();
    assert!(plan.missing.is_empty(), "nothing that anybody would miss: {:?}", plan.missing);
    for planned in plan.clock.into_iter().chain(plan.switches) {
        assert_eq!(planned.attr.flags & (BUILD_ID | INHERIT_THREAD), 0);
    }
    assert!(plan.switches.unwrap().attr.has(INHERIT));
}

#[test]
fn a_kernel_that_knows_one_newer_flag_is_asked_for_that_one() {
    let kernel = Refusing::new(|attr, _| attr.has(INHERIT_THREAD).then_some(Errno::INVAL));
    let plan = plan(&kernel, &both(), 1).unwrap();
    assert!(plan.clock.unwrap().attr.has(BUILD_ID));
    assert_eq!(plan.switches.unwrap().attr.flags & INHERIT_THREAD, 0);
}

#[test]
fn a_ring_that_is_too_large_is_halved_until_it_fits() {
    let kernel = Refusing { largest_ring: 64 << 10, ..Refusing::new(|_, _| None) };
    let options = Options { rate_hz: 999, ..options() };
    let granted = preflight_with(&kernel, &options).unwrap();
    assert_eq!(granted.ring_bytes, 64 << 10);
    let [missing] = granted.missing.as_slice() else { panic!("{:?}", granted.missing) };
    assert_eq!(missing.part, Part::RingSize { wanted: 4 << 20, got: 64 << 10 });
    assert_eq!(missing.cause, Cause::LockedMemory { limit: Some(8 << 20), ring_kb: Some(516) });
    assert!(missing.remedies.contains(&Remedy::Limit { name: "memlock", value: 12 << 20 }), "{missing}");

    let none = Refusing { largest_ring: 0, ..Refusing::new(|_, _| None) };
    assert!(matches!(preflight_with(&none, &options), Err(SamplerError::NoRing { .. })));
    let full = Refusing { largest_ring: 0, ring: Errno::NOMEM, ..Refusing::new(|_, _| None) };
    let Err(SamplerError::NoRing { cause, .. }) = preflight_with(&full, &options) else { panic!() };
    assert_eq!(cause, Cause::OutOfMemory);
}

#[test]
fn a_rate_above_the_limit_is_lowered() {
    let mut kernel = Refusing::new(|_, _| None);
    kernel.facts.max_rate = Some(500);
    let granted = preflight_with(&kernel, &Options { rate_hz: 10_000, ..options() }).unwrap();
    assert_eq!((granted.rate_hz, granted.period), (500, Duration::from_millis(2)));
    assert_eq!(parts(&granted), [Part::Rate { wanted: 10_000, got: 500 }]);
    assert!(matches!(
        preflight_with(&kernel, &Options { rate_hz: 0, ..options() }),
        Err(SamplerError::NoRate)
    ));
}

#[test]
fn nobody_to_sample() {
    let kernel = Refusing::new(|_, _| None);
    let none = Options::new(Scope::Processes(std::collections::BTreeSet::new()));
    assert!(matches!(preflight_with(&kernel, &none), Err(SamplerError::NoTarget)));
    let gone = Options::new(Scope::process(ProcessId(4_194_305)));
    assert!(matches!(preflight_with(&kernel, &gone), Err(SamplerError::NoSuchProcess { .. })));
    assert_eq!(kernel.opened.load(Ordering::Relaxed), 0, "the kernel was not even asked");
    let vanishes = Refusing::new(|attr, _| (attr.config != DUMMY).then_some(Errno::SRCH));
    let threads = Options { placement: PlacementWish::PerThread, ..options() };
    assert!(matches!(preflight_with(&vanishes, &threads), Err(SamplerError::NoSuchProcess { .. })));
}

#[test]
fn each_refusal_has_its_own_explanation() {
    let anything: fn(&Attr, Watched) -> Option<Errno> = |_, _| Some(Errno::PERM);
    assert_eq!(refused(&Refusing::new(|_, _| Some(Errno::NOSYS)), &options()).0, Cause::NotInKernel);

    let mut container = Refusing::new(anything);
    container.facts.filtered = true;
    assert_eq!(refused(&container, &options()), (Cause::Filtered, vec![Remedy::ContainerCapability]));

    let mut debian = Refusing::new(anything);
    debian.facts.paranoid = Some(3);
    let (cause, remedies) = refused(&debian, &options());
    assert_eq!(cause, Cause::Paranoid { value: Some(3), needed: 2 });
    assert!(remedies.contains(&Remedy::Setting { name: "kernel.perf_event_paranoid", value: 2 }));

    assert_eq!(refused(&Refusing::new(anything), &options()).0, Cause::SecurityModule);

    let mut inner_root = Refusing::new(anything);
    inner_root.facts =
        Facts { inner_user_namespace: true, capabilities: u64::MAX, user: 0, ..inner_root.facts };
    assert_eq!(refused(&inner_root, &options()).0, Cause::UserNamespace);

    let (cause, remedies) = refused(&Refusing::new(foreign), &options());
    assert_eq!(cause, Cause::OtherUser { process: ourselves() });
    assert_eq!(remedies.first(), Some(&Remedy::SameUser { process: ourselves() }));

    let (cause, _) = refused(&Refusing::new(ordinary), &Options::new(Scope::Machine));
    assert_eq!(cause, Cause::Paranoid { value: Some(2), needed: 0 });

    let full = Refusing::new(|_, _| Some(Errno::MFILE));
    assert_eq!(refused(&full, &options()).0, Cause::Descriptors { limit: Some(1024) });

    let odd = Refusing::new(|attr, _| (attr.config != DUMMY).then_some(Errno::OPNOTSUPP));
    assert!(matches!(refused(&odd, &options()).0, Cause::Other { .. }));
}

#[test]
fn the_words_for_it() {
    let program = "/usr/bin/drdotnet".to_owned();
    let mut text = String::new();
    let mut show = |what: &str, kernel: &Refusing, options: &Options| {
        let _ = writeln!(text, "# {what}");
        match preflight_with(kernel, options) {
            Ok(granted) => granted.missing.iter().for_each(|missing| {
                let _ = writeln!(text, "{missing}");
            }),
            Err(error) => {
                let _ = writeln!(text, "{error}");
            }
        }
    };
    show("an ordinary user, own process", &Refusing::new(ordinary), &both());
    show("an ordinary user, whole machine", &Refusing::new(ordinary), &Options::new(Scope::Machine));
    show("another user's process", &Refusing::new(foreign), &options());
    show("a kernel or sandbox without it", &Refusing::new(|_, _| Some(Errno::NOSYS)), &options());
    let mut container = Refusing::new(|_, _| Some(Errno::PERM));
    container.facts.filtered = true;
    show("a container", &container, &options());
    container.facts =
        Facts { inner_user_namespace: true, capabilities: u64::MAX, user: 0, ..container.facts };
    show("root of a user namespace", &container, &options());
    let mut debian = Refusing::new(|_, _| Some(Errno::ACCESS));
    debian.facts.paranoid = Some(3);
    show("a system that forbids it by default", &debian, &options());
    show("a security module", &Refusing::new(|_, _| Some(Errno::ACCESS)), &options());
    show("no more files", &Refusing::new(|_, _| Some(Errno::MFILE)), &options());
    let little = Refusing { largest_ring: 64 << 10, ..Refusing::new(|_, _| None) };
    show("little locked memory", &little, &Options { rate_hz: 999, ..options() });
    show("no locked memory", &Refusing { largest_ring: 0, ..Refusing::new(|_, _| None) }, &options());
    let mut slow = Refusing::new(|_, _| None);
    slow.facts.max_rate = Some(500);
    show("a rate above the limit", &slow, &Options { rate_hz: 10_000, ..options() });

    let own = std::env::current_exe().unwrap().display().to_string();
    let text = text.replace(&own, &program).replace(&format!("process {}", ourselves()), "process 4242");
    golden::check(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/refusals.txt"), &text);
}
