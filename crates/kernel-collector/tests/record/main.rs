//! Real processes, recorded.

mod lives;
mod off_cpu;
mod ordinary_user;
mod sparing;
mod user_namespace;

use std::time::{Duration, Instant};

use kernel_collector::{Collecting, Recorded, RecordedProcess, Request, Target};
use model::{FrameKind, ProcessId};
use perf_sampler::{Collect, Wake};
use stacks::Profile;
use testbed::Runtime;

/// How long anything may take.
const LONG: Duration = Duration::from_secs(60);

fn pid(target: &testbed::Target) -> ProcessId {
    ProcessId(target.pid())
}

fn target_of(target: &testbed::Target) -> Target {
    found(pid(target))
}

fn found(pid: ProcessId) -> Target {
    Target::from(&discovery::find(pid, &discovery::Options::default()).expect("it is there"))
}

fn start(patient: &str) -> testbed::Target {
    testbed::shared().target(patient, Runtime::Net9).start().expect("the patient starts")
}

/// Records until there is enough.
fn record_until(request: Request, mut enough: impl FnMut(&Collecting) -> bool) -> Recorded {
    let mut collecting = Collecting::start(request).expect("root may sample");
    let begin = Instant::now();
    while !enough(&collecting) {
        assert!(begin.elapsed() < LONG, "{:?}", collecting.counts());
        if collecting.wait(Duration::from_millis(200)).expect("it waits") == Wake::TargetsEnded {
            break;
        }
    }
    collecting.finish()
}

/// Records for so long.
fn record_for(request: Request, time: Duration) -> Recorded {
    testbed::watching(time);
    let begin = Instant::now();
    record_until(request, |_| begin.elapsed() > time)
}

/// Records until there are so many samples.
fn record(targets: Vec<Target>, collect: Collect, samples: u64) -> Recorded {
    let mut request = Request::new(targets, collect);
    request.sampling.rate_hz = 499;
    record_until(request, |collecting| collecting.counts().on_cpu + collecting.wait_stacks() >= samples)
}

fn of(recorded: &Recorded, pid: ProcessId) -> &RecordedProcess {
    recorded.processes.iter().find(|process| process.pid == pid).expect("it was recorded")
}

/// The part of a profile's time with a frame of this name in its stack, in per cent.
fn share(profile: &Profile, name: &str) -> f64 {
    100.0 * time_in(profile, name) as f64 / profile.total() as f64
}

/// The time with a frame of this name in its stack, in nanoseconds.
fn time_in(profile: &Profile, name: &str) -> u64 {
    let with = |sample: &&stacks::Sample| {
        sample.stack.is_some_and(|stack| {
            profile.stack(stack).any(|frame| profile.frames[frame.0 as usize].name.contains(name))
        })
    };
    profile.samples.iter().filter(with).map(|sample| sample.weight).sum()
}

#[test]
fn a_hot_method_is_named_from_the_kernel_to_the_start_of_its_thread() {
    for runtime in Runtime::ALL {
        let target = testbed::shared().target("hot-method", runtime).start().expect("the patient starts");
        let recorded = record(vec![target_of(&target)], Collect::OnCpu, 400);
        let process = &recorded.processes[0];
        assert_eq!(process.naming.failure, None, "{runtime}");
        assert!(process.naming.methods > 100, "{runtime}: {:?}", process.naming);
        let quality = process.profiles.quality;
        assert!(quality.named_percent() >= 99.5, "{runtime}: {quality:?}");
        assert!(quality.complete_percent() >= 98.0, "{runtime}: {quality:?}");
        let profile = &process.profiles.on_cpu;
        assert!(share(profile, "start_thread") + share(profile, "clone") > 50.0, "{runtime}");
        let own =
            profile.frames.iter().find(|frame| frame.kind == FrameKind::Managed && frame.line.is_some());
        assert!(own.is_some(), "{runtime}: no frame has a line");
        assert!(target.is_alive(), "{}", target.stderr_text());
    }
}
