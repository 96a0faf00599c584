//! Targets in containers, targets that end, stop, have children.

use std::time::{Duration, Instant};

use kernel_collector::{Collecting, Request};
use model::FrameKind;
use perf_sampler::{Children, Collect, Wake};
use testbed::{Namespaces, Runtime};

use crate::off_cpu::Copy;
use crate::{LONG, of, pid, record_for, record_until, share, start, target_of, time_in};

#[test]
fn a_target_in_a_container_is_named_from_outside() {
    if let Err(error) = Namespaces::available() {
        eprintln!("skipped: {error}");
        return;
    }
    let builder = testbed::shared().target("web-two-routes", Runtime::Net9);
    let inside = Namespaces::PidAndMount { private_tmp: true };
    let target = builder.namespaces(inside).start().expect("the patient starts");
    let mut request = Request::new(vec![target_of(&target)], Collect::Both);
    request.sampling.rate_hz = 499;
    let recorded =
        record_until(request, |so_far| so_far.counts().on_cpu >= 200 && so_far.wait_stacks() >= 200);
    let process = of(&recorded, pid(&target));
    assert_eq!(process.naming.failure, None);
    let profiles = &process.profiles;
    assert!(share(&profiles.on_cpu, "Shop.Api.Checkout.Burn") > 50.0);
    assert!(time_in(&profiles.off_cpu, "Patients.LoopbackClients.Drive") > 0);
    let quality = profiles.quality;
    assert!(quality.named_percent() >= 99.0, "{quality:?}");
    assert!(quality.running_complete_percent() >= 98.0, "{quality:?}");
    assert!(quality.waits.complete_percent() >= 97.0, "{quality:?}");
    let lines = profiles.on_cpu.frames.iter().any(|frame| frame.line.is_some());
    assert!(lines, "its source lines are found through its own file system");
}

#[test]
fn a_target_that_is_killed_has_names_for_what_was_seen() {
    let target = start("web-two-routes");
    let mut request = Request::new(vec![target_of(&target)], Collect::Both);
    request.sampling.rate_hz = 499;
    let mut collecting = Collecting::start(request).expect("root may sample");
    let begin = Instant::now();
    let mut killed = false;
    loop {
        assert!(begin.elapsed() < LONG, "{:?}", collecting.counts());
        let counts = collecting.counts();
        if !killed && counts.on_cpu >= 200 && collecting.wait_stacks() >= 100 {
            target.kill().expect("it can be killed");
            killed = true;
        }
        if collecting.wait(Duration::from_millis(200)).expect("it waits") == Wake::TargetsEnded {
            break;
        }
    }
    assert!(killed, "it ended by itself");
    let recorded = collecting.finish();
    let profiles = &of(&recorded, pid(&target)).profiles;
    assert!(share(&profiles.on_cpu, "Shop.Api.Checkout.Burn") > 50.0);
    assert!(time_in(&profiles.off_cpu, "Patients.LoopbackClients.Drive") > 0, "the waits are named too");
    assert!(profiles.quality.running_complete_percent() >= 98.0, "{:?}", profiles.quality);
}

#[test]
fn a_stopped_target_is_waited_for_in_vain_but_recorded() {
    let target = start("hot-method");
    let found = target_of(&target);
    target.suspend().expect("it stops");
    let recorded = record_for(Request::new(vec![found], Collect::Both), Duration::from_secs(1));
    let process = of(&recorded, pid(&target));
    assert!(process.naming.failure.is_some(), "its runtime cannot answer: {:?}", process.naming);
    assert_eq!(process.profiles.on_cpu.samples.len(), 0);
    // Nobody ran, so everybody waited all the time.
    let profile = &process.profiles.off_cpu;
    let threads = profile.threads.len() as u64;
    assert!(threads > 5, "{threads} threads");
    assert!(profile.total() * 100 >= profile.duration_ns * threads * 98, "{}", profile.total());
    let native = profile.frames.iter().any(|frame| frame.kind == FrameKind::Native);
    assert!(native, "functions of libraries have names without the runtime");
    target.resume().expect("it goes on");
    assert!(target.is_alive());
}

#[test]
fn a_target_that_stops_in_the_middle_waits_from_then_on() {
    let target = start("hot-method");
    let mut request = Request::new(vec![target_of(&target)], Collect::Both);
    request.sampling.rate_hz = 499;
    let mut stopped = None;
    let recorded = record_until(request, |so_far| {
        if stopped.is_none() && so_far.counts().on_cpu >= 400 {
            target.suspend().expect("it stops");
            stopped = Some(Instant::now());
        }
        stopped.is_some_and(|at| at.elapsed() > Duration::from_secs(1))
    });
    target.resume().expect("it goes on");
    let profiles = &of(&recorded, pid(&target)).profiles;
    assert!(share(&profiles.on_cpu, "Pricing.DiscountBook.FindBest") > 50.0);
    // The hot thread, which never waited before, waited for a second, in its own code.
    let waited = time_in(&profiles.off_cpu, "Pricing.DiscountBook.FindBest");
    assert!(waited >= 900_000_000, "{waited}");
    assert!(target.is_alive());
}

#[test]
fn children_that_are_dotnet_programs_have_names() {
    let builder = testbed::shared().target("healthy-starts-children", Runtime::Net9);
    let target = builder.arg("wait=1").start_without_waiting().expect("it starts");
    let begin = Instant::now();
    // It has a runtime to ask before it has a child.
    while !discovery::find(pid(&target), &discovery::Options::default())
        .is_ok_and(|process| process.reach == discovery::Reach::Ready)
    {
        assert!(begin.elapsed() < LONG, "no runtime");
        std::thread::yield_now();
    }
    let mut request = Request::new(vec![target_of(&target)], Collect::Both);
    request.sampling.rate_hz = 499;
    request.sampling.children = Children::Followed;
    let mut collecting = Collecting::start(request).expect("root may sample");
    std::fs::write(format!("/proc/{}/fd/0", target.pid()), "go\n").expect("it listens");
    let mut child = None;
    let mut since = None;
    while since.is_none_or(|since: Instant| since.elapsed() < Duration::from_secs(2)) {
        assert!(begin.elapsed() < LONG, "no child");
        collecting.wait(Duration::from_millis(50)).expect("it waits");
        if child.is_none()
            && let Ok(line) = target.wait_for_line("child ", Duration::ZERO)
        {
            child = line.rsplit(' ').next().and_then(|number| number.parse().ok()).map(model::ProcessId);
            since = Some(Instant::now());
        }
    }
    let recorded = collecting.finish();
    let child = of(&recorded, child.expect("a child"));
    assert_eq!(child.naming.failure, None);
    let managed = |kind: FrameKind| child.profiles.off_cpu.frames.iter().any(|frame| frame.kind == kind);
    assert!(managed(FrameKind::Managed), "{:?}", child.profiles.quality);
    assert!(child.profiles.quality.named_percent() >= 95.0, "{:?}", child.profiles.quality);
    assert!(time_in(&child.profiles.off_cpu, "Printing.PrintServer.EndWithStandardInput") > 0);
}

#[test]
fn two_targets_at_once_are_kept_apart() {
    let (hot, parked) = (start("hot-method"), start("pool-starvation"));
    let mut request = Request::new(vec![target_of(&hot), target_of(&parked)], Collect::Both);
    request.sampling.rate_hz = 499;
    let recorded = record_until(request, |so_far| so_far.counts().on_cpu >= 300);
    let [hot, parked] = [of(&recorded, pid(&hot)), of(&recorded, pid(&parked))];
    assert!(share(&hot.profiles.on_cpu, "Pricing.DiscountBook.FindBest") > 50.0);
    assert!(share(&parked.profiles.off_cpu, "Catalog.PriceService.GetPrice") > 20.0);
    assert_eq!(time_in(&hot.profiles.off_cpu, "Catalog."), 0);
    assert_eq!(time_in(&parked.profiles.on_cpu, "Pricing."), 0);
}

#[test]
fn a_thousand_threads_that_come_and_go() {
    let swarm = Copy::start("swarm");
    let mut request = Request::new(vec![swarm.pid().into()], Collect::Both);
    request.sampling.rate_hz = 499;
    let recorded = record_until(request, |so_far| so_far.counts().switches >= 20_000);
    let process = of(&recorded, swarm.pid());
    let threads = process.profiles.off_cpu.threads.len();
    assert!(threads >= 1000, "{threads}");
    let quality = process.profiles.quality;
    assert!(quality.waits.waited_ns > 0);
    assert!(quality.complete_percent() >= 95.0, "{quality:?}");
    assert!(process.cpu_time.is_some_and(|used| used > Duration::ZERO));
}
