//! Who awaits the async methods that run, read from real runtimes.

use std::collections::HashMap;

use agent_host::{AgentError, ChainEnd};
use testbed::Runtime;

use crate::support::{Guest, every_runtime};

/// Looks at most; every look sees another moment.
const LOOKS: usize = 500;

#[test]
fn a_resumed_method_is_told_with_all_who_await_it() {
    for runtime in Runtime::ALL {
        let guest = Guest::of("async-hot-path", runtime);
        let mut attached = guest.attach().expect("the agent comes");
        let mut classes = HashMap::new();
        let (mut seen, mut longest) = (HashMap::<Vec<String>, usize>::new(), std::time::Duration::ZERO);
        let quote = ["SimulateAsync", "ThreeScenariosAsync", "HandleQuoteAsync", "QuoteRequests"];
        let audit = ["SimulateAsync", "HandleAuditAsync", "AuditRequests"];
        let has = |seen: &HashMap<Vec<String>, usize>, wanted: &[&str]| {
            seen.keys().any(|chain| {
                chain.len() == wanted.len()
                    && chain.iter().zip(wanted).all(|(link, part)| link.contains(part))
            })
        };
        for _ in 0..LOOKS {
            let sample = attached.async_sample().expect("a sample");
            longest = longest.max(sample.stacks.pause.suspended);
            classes.extend(sample.classes);
            for chain in sample.chains.values().filter(|chain| chain.end == ChainEnd::Nobody) {
                let name = |id: &u64| {
                    classes.get(id).map_or(String::new(), |class: &agent_host::Class| class.name.clone())
                };
                *seen.entry(chain.links.iter().map(name).collect()).or_default() += 1;
            }
            if has(&seen, &quote) && has(&seen, &audit) {
                break;
            }
        }
        println!("{runtime}: longest {longest:?}, {seen:#?}");
        assert!(has(&seen, &quote) && has(&seen, &audit), "{runtime}: {seen:#?}");
        assert!(attached.leave().expect("it leaves").confirmed);
        assert!(guest.target.is_alive(), "{runtime}: {}", guest.target.stderr_text());
    }
}

#[test]
fn looking_again_and_again_harms_no_program() {
    every_runtime(|runtime| {
        let guest = Guest::with_known_stack(runtime);
        let mut attached = guest.attach().expect("the agent comes");
        for _ in 0..100 {
            attached.async_sample().expect("a sample");
        }
        assert!(attached.leave().expect("it leaves").confirmed);
        assert!(guest.target.is_alive(), "{runtime}: {}", guest.target.stderr_text());
    });
}

/// A server that collects while it is looked at: what is on stacks and heap changes all the time.
#[test]
fn a_busy_server_is_sampled_and_counted_without_harm() {
    let guest = Guest::of("healthy-busy-aspnet", Runtime::Net9);
    let mut attached = guest.attach().expect("the agent comes");
    let (mut chains, mut pending) = (0, 0);
    for look in 0..300 {
        chains += attached.async_sample().expect("a sample").chains.len();
        if look % 15 == 14 {
            let census = attached.async_census().expect("a count");
            assert!(!census.cut, "{:?}", census.pause);
            pending = census.pending.iter().map(|pending| pending.count).sum();
        }
    }
    println!("{chains} chains, {pending} pending");
    assert!(pending > 0, "a server always awaits something");
    assert!(attached.leave().expect("it leaves").confirmed);
    assert!(guest.target.is_alive(), "{}", guest.target.stderr_text());
}

#[test]
fn a_runtime_that_cannot_walk_its_heap_says_so() {
    for runtime in [Runtime::Net31, Runtime::Net8] {
        let guest = Guest::of("async-hot-path", runtime);
        let mut attached = guest.attach().expect("the agent comes");
        let refused = attached.async_census().expect_err("no walk");
        assert!(matches!(refused, AgentError::Refused { .. }), "{runtime}: {refused}");
        attached.async_sample().expect("it still answers");
        assert!(attached.leave().expect("it leaves").confirmed);
    }
}
