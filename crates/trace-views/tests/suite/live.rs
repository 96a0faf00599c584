//! Views of real programs, each with a fault that one view shows.

use std::time::Duration;

use crate::recording::{STRANGER, Subject, runtime_events, samples};
use diagnostics_ipc::Provider;
use runtime_events::keyword;
use stacks::{CallTree, Profile, ThreadSamples, ThreadSlot, top_methods};
use testbed::Runtime;
use trace_views::{Detail, Reading, Request, View, Wanted, is_marker, read};

const PATIENTS: [Runtime; 4] = Runtime::ALL;

/// So much is enough to see anything that happens many times a second.
const LOOK: Duration = Duration::from_secs(1);

fn look(patient: &str, runtime: Runtime, providers: Vec<Provider>, view: View) -> (Profile, Reading) {
    testbed::watching(LOOK);
    let trace = Subject::start(patient, runtime).record(providers, |waiting| waiting.elapsed >= LOOK);
    let request = Request::new(Wanted::View(view), Detail::TimeLine);
    let mut reading = read(trace.as_slice(), &request).expect("it is a trace");
    assert!(reading.summary.damage.is_none(), "{runtime:?}: {:?}", reading.summary.damage);
    let profile = reading.profile.take();
    (profile.unwrap_or_else(|| panic!("{runtime:?}: {:?}", reading.summary)), reading)
}

/// Names of methods and their weights, the ones that do most themselves first.
fn top(profile: &Profile) -> Vec<(String, u64, u64)> {
    let tree = CallTree::new(profile, &profile.samples);
    let methods = top_methods(profile, &tree, is_marker);
    let name = |frame: stacks::FrameId| profile.frames[frame.0 as usize].name.clone();
    methods.iter().map(|method| (name(method.frame), method.own, method.total)).collect()
}

fn share(profile: &Profile, part: u64) -> f64 {
    part as f64 / profile.total() as f64
}

/// What a method weighs with all it called.
#[track_caller]
fn total_of(profile: &Profile, name: &str) -> u64 {
    let top = top(profile);
    let found = top.iter().find(|(found, ..)| found.starts_with(name));
    found.unwrap_or_else(|| panic!("no {name} in {:?}", top.iter().take(20).collect::<Vec<_>>())).2
}

#[test]
fn a_hot_method_has_the_time_in_managed_code() {
    for runtime in PATIENTS {
        let (profile, reading) = look("hot-method", runtime, vec![samples()], View::ManagedTime);
        let top = top(&profile);
        assert!(
            top[0].0.starts_with("Pricing.DiscountBook.FindBest"),
            "{runtime:?}: {:?}",
            &top[..3.min(top.len())]
        );
        assert!(share(&profile, top[0].1) > 0.5, "{runtime:?}: {top:?}");
        assert!(profile.frames[0].module.is_some(), "{:?}", profile.frames[0]);
        let names = reading.summary.names;
        assert!(names.unnamed * 20 <= names.addresses, "{runtime:?}: nearly all have names: {names:?}");
    }
}

#[test]
fn thread_time_is_the_time_of_all_threads() {
    for runtime in PATIENTS {
        let (profile, reading) = look("hot-method", runtime, vec![samples()], View::ThreadTime);
        assert_eq!(reading.view, Some(View::ThreadTime));
        let by_thread = ThreadSamples::new(&profile);
        // The thread that works does so from the first sample to the last.
        let times: Vec<u64> = (0..profile.threads.len())
            .map(|slot| {
                by_thread.of(ThreadSlot(u32::try_from(slot).unwrap())).map(|sample| sample.weight).sum()
            })
            .collect();
        let longest = times.iter().copied().max().unwrap();
        let ratio = longest as f64 / reading.summary.duration_ns as f64;
        assert!((0.5..=1.01).contains(&ratio), "{runtime:?}: {ratio}, {times:?}");
        total_of(&profile, "Pricing.DiscountBook.FindBest");
        for slot in (0..u32::try_from(profile.threads.len()).unwrap()).map(ThreadSlot) {
            let mut end = 0;
            for sample in by_thread.of(slot) {
                assert!(sample.at_ns >= end, "{runtime:?}: samples of a thread overlap");
                end = sample.at_ns + sample.weight;
            }
        }
    }
}

#[test]
fn allocations_are_weighed_by_bytes() {
    for runtime in PATIENTS {
        let (profile, reading) =
            look("allocation-pressure", runtime, vec![runtime_events(keyword::GC)], View::Allocations);
        // A tick stands for about 100 kB.
        let ticks = reading.summary.count(View::Allocations);
        let mean = profile.total() / ticks;
        assert!((90_000..300_000).contains(&mean), "{runtime:?}: {mean} bytes for each of {ticks}");
        let composed = total_of(&profile, "Rendering.PageBuilder.Compose");
        assert!(share(&profile, composed) > 0.5, "{runtime:?}: {:?}", top(&profile));
        let types: Vec<&str> =
            profile.frames.iter().filter(|frame| is_marker(frame)).map(|frame| frame.name.as_str()).collect();
        assert!(!types.is_empty() && types.iter().all(|name| name.starts_with("Type ")), "{types:?}");
    }
}

#[test]
fn contention_is_weighed_by_time() {
    for runtime in PATIENTS {
        let providers = vec![runtime_events(keyword::CONTENTION)];
        let (profile, reading) = look("lock-contention", runtime, providers, View::Contention);
        let reserve = total_of(&profile, "Inventory.Stock.Reserve");
        assert!(share(&profile, reserve) > 0.5, "{runtime:?}: {:?}", top(&profile));
        // Six threads wait for each other nearly all the time: more than one of them at every moment.
        let waiting = profile.total() as f64 / reading.summary.duration_ns as f64;
        assert!((1.0..=6.1).contains(&waiting), "{runtime:?}: {waiting} threads wait at a time");
    }
}

#[test]
fn exceptions_are_counted_where_they_are_thrown() {
    for runtime in PATIENTS {
        let providers = vec![runtime_events(keyword::EXCEPTION)];
        let (profile, reading) = look("exception-storm", runtime, providers, View::Exceptions);
        assert_eq!(profile.total(), reading.summary.count(View::Exceptions));
        let parse = total_of(&profile, "Import.PriceFeed.ParseAmount");
        assert!(share(&profile, parse) > 0.9, "{runtime:?}: {:?}", top(&profile));
        assert!(
            profile.frames.iter().any(|frame| frame.name == "Throw(System.FormatException)"),
            "{runtime:?}"
        );
    }
}

#[test]
fn a_program_of_somebody_else_on_net_10_has_views_too() {
    let trace = Subject::start(STRANGER, Runtime::Net10)
        .record(vec![samples(), runtime_events(keyword::GC)], |waiting| waiting.elapsed >= LOOK);
    let reading = read(trace.as_slice(), &Request::new(Wanted::Best, Detail::Totals)).expect("it is a trace");
    assert_eq!(reading.view, Some(View::ThreadTime), "{:?}", reading.summary.views);
    let profile = reading.profile.expect("it has samples");
    assert!(profile.frames.len() > 3 && profile.total() > 0);
    assert!(reading.summary.runtime.is_some_and(|version| version.starts_with("10.")));
}
