//! Methods, modules and threads while a program runs, and what only .NET 10 tells.

use std::collections::{BTreeMap, BTreeSet};

use crate::session::{PATIENTS, STRANGER, Subject, runtime_events, with_arguments};
use diagnostics_ipc::{Rundown, TraceRequest};
use nettrace::ThreadId;
use runtime_events::jit::{IlOffset, Tier};
use runtime_events::{RuntimeEvent, keyword, provider};
use testbed::Runtime;

#[test]
fn methods_have_names_code_and_maps() {
    #[derive(Default)]
    struct Seen {
        loaded: u64,
        started: u64,
        maps: u64,
        tiers: BTreeSet<String>,
    }
    for runtime in PATIENTS {
        let subject = Subject::start("jit-storm", runtime);
        let keywords = keyword::JIT | keyword::LOADER | keyword::IL_TO_NATIVE_MAP | keyword::THREADING;
        let seen: Seen = subject.watch(
            &runtime_events(keywords | keyword::COMPILATION_DIAGNOSTIC),
            |seen, _, decoded| match decoded {
                RuntimeEvent::MethodLoad(method) => {
                    assert!(!method.name.is_empty() && method.code_bytes > 0, "{method:?}");
                    let tier = method.flags.tier();
                    assert!(method.flags.is_jitted() && !matches!(tier, Tier::Other(_)), "{method:?}");
                    seen.tiers.insert(format!("{tier:?}"));
                    seen.loaded += 1;
                }
                RuntimeEvent::JittingStarted(method) => {
                    // The size of a dynamic method's IL is not told.
                    assert!(method.il_bytes > 0 || method.namespace == "dynamicClass", "{method:?}");
                    seen.started += 1;
                }
                RuntimeEvent::IlToNativeMap(map) => {
                    assert!(!map.is_empty() && map.entries().len() == map.len());
                    assert!(map.entries().any(|(il, _)| il == IlOffset::Bytes(0) || il == IlOffset::Prolog));
                    seen.maps += 1;
                }
                _ => {}
            },
            |seen| seen.loaded > 50 && seen.started > 50 && seen.maps > 50,
        );
        println!("{runtime}: {:?}", seen.tiers);
    }
}

#[test]
fn allocations_picked_at_random_on_10() {
    let subject = Subject::start(STRANGER, Runtime::Net10);
    let mut request = runtime_events(keyword::ALLOCATION_SAMPLING);
    // Its counters are what this idle program allocates for.
    request.providers.push(with_arguments("System.Runtime", 0, "EventCounterIntervalSec=0.01"));
    request.providers.push(with_arguments(provider::SAMPLE_PROFILER, 0, ""));
    let seen: Vec<(String, f64)> = subject.watch(
        &request,
        |seen, event, decoded| {
            if let RuntimeEvent::AllocationSampled(sample) = decoded {
                assert!(sample.sampled_byte < sample.object_bytes && sample.object.0 != 0, "{sample:?}");
                assert!(event.stack.is_some());
                seen.push((sample.type_name.to_string(), sample.represented_bytes()));
            }
        },
        |seen| seen.len() > 3,
    );
    println!("{seen:?}");
    assert!(seen.iter().all(|(name, bytes)| !name.is_empty() && *bytes >= 102_400.0), "{seen:?}");
}

#[test]
fn work_that_is_queued_is_taken() {
    #[derive(Default)]
    struct Seen {
        queued: BTreeMap<i64, ThreadId>,
        taken_elsewhere: u64,
        waits: u64,
    }
    for runtime in PATIENTS {
        let subject = Subject::start("healthy-parked-pool", runtime);
        let mut request = runtime_events(keyword::THREADING);
        request.providers.push(with_arguments(provider::FRAMEWORK, 0x2, ""));
        let seen: Seen = subject.watch(
            &request,
            |seen, event, decoded| match decoded {
                RuntimeEvent::ManagedWorkEnqueue(work) => drop(seen.queued.insert(work.id, event.thread())),
                RuntimeEvent::ManagedWorkDequeue(work) => {
                    let by = seen.queued.get(&work.id);
                    seen.taken_elsewhere += u64::from(by.is_some_and(|by| *by != event.thread()));
                }
                RuntimeEvent::WorkerWait(threads) => {
                    assert!((1..1000).contains(&threads.active), "{threads:?}");
                    seen.waits += 1;
                }
                _ => {}
            },
            |seen| seen.taken_elsewhere > 5 && seen.waits > 0,
        );
        println!("{runtime}: {} queued, {} taken", seen.queued.len(), seen.taken_elsewhere);
    }
}

#[test]
fn a_rundown_of_threads_has_to_be_asked_for() {
    for runtime in [Runtime::Net9, Runtime::Net10] {
        let subject = Subject::start("zombie-threads", runtime);
        let rundown = Rundown::Keywords(keyword::THREADING | keyword::LOADER);
        let request = TraceRequest { rundown, ..runtime_events(keyword::CONTENTION) };
        let threads: BTreeMap<ThreadId, u32> = subject.watch(
            &request,
            |threads, _, decoded| {
                if let RuntimeEvent::ThreadRundown(thread) = decoded {
                    threads.insert(thread.os_thread, thread.managed_index);
                }
            },
            |_| true,
        );
        println!("{runtime}: {threads:?}");
        assert!(!threads.is_empty(), "{runtime}");
    }
}
