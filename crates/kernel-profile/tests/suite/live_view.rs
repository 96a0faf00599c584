//! Looking while it goes on.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kernel_profile::{Intake, Names};
use perf_sampler::{Collect, Options, Sampler, Scope, Timestamp};
use testbed::Runtime;

use crate::support::{LONG, Subject, may_watch, stacks_of};

#[test]
fn snapshots_add_up_and_show_waits_that_go_on() {
    if !may_watch() {
        return;
    }
    let subject = Subject::start("web-two-routes", Runtime::Net9);
    let code = subject.code();
    let options =
        Options { collect: Collect::Both, rate_hz: 499, ..Options::new(Scope::process(subject.pid())) };
    let mut sampler = Sampler::start(&options).unwrap();
    let mut intake = Intake::new(127);
    intake.follow(subject.pid());
    let started = sampler.started();
    let (mut since, mut seen, mut waiting) = (started, 0, 0);
    let mut pictures = 0;
    while seen < 500 || pictures < 5 || waiting == 0 {
        assert!(Timestamp::now().since(started) < LONG, "{seen} samples in {pictures} pictures");
        sampler.wait(Duration::from_millis(20)).unwrap();
        // What is younger is still to come.
        let until = Timestamp(Timestamp::now().0 - 5_000_000);
        sampler.read(&mut |record| intake.take(record));
        if until.since(since) < Duration::from_millis(100) {
            continue;
        }
        let mut map = code.map.lock().unwrap_or_else(PoisonError::into_inner);
        map.settle();
        let names = Names { code: &map, kernel: None, debug_cache: None };
        let picture = intake.snapshot(subject.pid(), &names, since, until).unwrap();
        assert_eq!(picture.on_cpu.duration_ns, until.0 - since.0);
        let length = picture.off_cpu.duration_ns;
        assert!(
            picture
                .off_cpu
                .samples
                .iter()
                .all(|sample| sample.at_ns <= length && sample.weight <= 2 * length)
        );
        // A wait of 100 ms that began before this picture and ends after it.
        waiting += stacks_of(&picture.off_cpu)
            .filter(|(at, stack)| {
                *at == 0 && stack.iter().any(|frame| frame.name == "Shop.Api.Checkout.Wait")
            })
            .count();
        seen += picture.on_cpu.samples.len();
        pictures += 1;
        since = until;
    }
    sampler.finish(&mut |_| {});
    let map = code.end();
    let names = Names { code: &map, kernel: None, debug_cache: None };
    let whole = intake.finish(subject.pid(), &names, started, since).unwrap();
    let before = whole.on_cpu.samples.iter().filter(|sample| sample.at_ns < since.0 - started.0).count();
    assert_eq!(before, seen, "every sample is in one picture");
}

#[test]
fn what_was_forgotten_is_gone() {
    if !may_watch() {
        return;
    }
    let subject = Subject::start("hot-method", Runtime::Net9);
    let intake = Mutex::new(Intake::new(127));
    let mut sampler =
        Sampler::start(&Options { rate_hz: 999, ..Options::new(Scope::process(subject.pid())) }).unwrap();
    let mut count = 0;
    while count < 300 {
        sampler.wait(Duration::from_millis(20)).unwrap();
        sampler.read(&mut |record| {
            count += 1;
            intake.lock().unwrap().take(record);
        });
    }
    let now = Timestamp::now();
    let mut intake = intake.into_inner().unwrap();
    intake.forget_before(now);
    let map = symbols::CodeMap::new();
    let names = Names { code: &map, kernel: None, debug_cache: None };
    let profiles = intake.snapshot(subject.pid(), &names, sampler.started(), now).unwrap();
    assert!(profiles.on_cpu.samples.is_empty());
    let profiles = intake.finish(subject.pid(), &names, sampler.started(), now).unwrap();
    assert!(profiles.on_cpu.samples.is_empty() && profiles.quality.stacks > 0);
}
