//! Events of real programs on real runtimes.

use crate::session;

use std::collections::{BTreeMap, BTreeSet};

use crate::session::{EVERY, PATIENTS, Subject, runtime_events};
use diagnostics_ipc::{Rundown, TraceRequest};
use nettrace::ThreadId;
use runtime_events::allocation::AllocationKind;
use runtime_events::gc::{GcReason, GcType, SuspendReason};
use runtime_events::gc_history::CommittedUsage;
use runtime_events::thread_pool::AdjustmentReason;
use runtime_events::{GcNumber, Generation, RuntimeEvent, keyword, provider};
use testbed::Runtime;

#[test]
fn exceptions_have_type_message_code_and_handler() {
    #[derive(Default)]
    struct Seen {
        thrown: u64,
        addresses: u64,
        handlers: u64,
        stops: u64,
    }
    for runtime in PATIENTS {
        let subject = Subject::start("exception-storm", runtime);
        let seen: Seen = subject.watch(
            &runtime_events(keyword::EXCEPTION),
            |seen, event, decoded| match decoded {
                RuntimeEvent::ExceptionThrown(thrown) => {
                    assert!(thrown.type_name == "System.FormatException", "{}", thrown.type_name);
                    assert!(thrown.message.to_string().contains("nput string "), "{}", thrown.message);
                    assert_eq!(thrown.hresult.to_string(), "0x80131537");
                    assert!(thrown.flags.is_cls_compliant() && !thrown.flags.is_nested());
                    assert!(event.stack.is_some());
                    seen.addresses += u64::from(thrown.address.0 != 0);
                    seen.thrown += 1;
                }
                RuntimeEvent::CatchStart(handler) => {
                    let name = handler.method_name.to_string();
                    assert!(name.contains("ReadRow"), "{name}");
                    assert!(handler.entry.0 != 0 && handler.method.0 != 0);
                    seen.handlers += 1;
                }
                RuntimeEvent::CatchStop(_) => seen.stops += 1,
                _ => {}
            },
            |seen| seen.thrown > 100,
        );
        // Since 9 exceptions are handled in managed code, which does not know the instruction any more.
        let has_address = matches!(runtime, Runtime::Net31 | Runtime::Net8);
        assert_eq!(seen.addresses, if has_address { seen.thrown } else { 0 }, "{runtime}");
        assert!(seen.handlers + 2 >= seen.thrown && seen.stops + 2 >= seen.thrown);
    }
}

#[test]
fn collections_begin_and_end_and_stop_all_threads() {
    #[derive(Default)]
    struct Seen {
        running: BTreeSet<GcNumber>,
        ended: u64,
        stats: u64,
        pauses: [u64; 4],
        ticks: u64,
        bytes: u64,
        types: BTreeSet<String>,
        triggered: u64,
        ranges: BTreeSet<Generation>,
        histories: u64,
        committed: u64,
    }
    for runtime in PATIENTS {
        let subject = Subject::start("allocation-pressure", runtime);
        let seen: Seen = subject.watch(
            &runtime_events(keyword::GC | keyword::GC_SURVIVAL),
            |seen, _, decoded| match decoded {
                RuntimeEvent::GcStart(start) => {
                    assert!(
                        start.generation <= Generation(2) && start.client_sequence.is_some(),
                        "{start:?}"
                    );
                    assert!(
                        !matches!(start.reason, GcReason::Other(_))
                            && !matches!(start.kind, GcType::Other(_))
                    );
                    seen.running.insert(start.number);
                }
                RuntimeEvent::GcEnd(end) => seen.ended += u64::from(seen.running.remove(&end.number)),
                RuntimeEvent::HeapStats(stats) => {
                    assert!(stats.gen0_bytes + stats.gen1_bytes + stats.gen2_bytes > 0, "{stats:?}");
                    assert!(stats.handles > 0 && stats.gen0_bytes < 1 << 40, "{stats:?}");
                    seen.stats += 1;
                }
                RuntimeEvent::PerHeapHistory(history) => {
                    // The pinned object heap came with .NET 5.
                    assert!(
                        history.heap == 0 && [4, 5].contains(&history.generations().len()),
                        "{history:?}"
                    );
                    let size: u64 = history.generations().map(|part| part.size_after).sum();
                    assert!(size > 0 && size < 1 << 40, "{history:?}");
                    seen.histories += 1;
                }
                RuntimeEvent::GcDynamic(dynamic) => {
                    if let Some(usage) = CommittedUsage::of(&dynamic) {
                        assert!(usage.in_use > 0 && usage.in_use < 1 << 40, "{usage:?}");
                        seen.committed += 1;
                    }
                }
                RuntimeEvent::SuspendBegin(suspend) => {
                    assert!(!matches!(suspend.reason, SuspendReason::Other(_)), "{suspend:?}");
                    seen.pauses[0] += 1;
                }
                RuntimeEvent::SuspendEnd(_) => seen.pauses[1] += 1,
                RuntimeEvent::RestartBegin(_) => seen.pauses[2] += 1,
                RuntimeEvent::RestartEnd(_) => seen.pauses[3] += 1,
                RuntimeEvent::GenerationRange(range) => {
                    assert!(range.used_bytes <= range.reserved_bytes && range.start.0 != 0, "{range:?}");
                    seen.ranges.insert(range.generation);
                }
                RuntimeEvent::GcTriggered(triggered) => {
                    seen.triggered += u64::from(triggered.reason == GcReason::AllocSmall);
                }
                RuntimeEvent::AllocationTick(tick) => {
                    assert_eq!(tick.kind, AllocationKind::Small);
                    assert!(tick.object.is_some_and(|object| object.0 != 0), "{tick:?}");
                    seen.types.insert(tick.type_name.expect("every runtime names the type").to_string());
                    seen.bytes += tick.allocated_bytes();
                    seen.ticks += 1;
                }
                _ => {}
            },
            |seen| seen.ended > 5 && seen.ticks > 100,
        );
        assert!(seen.stats >= seen.ended && seen.triggered > 0, "{runtime}");
        assert!(seen.histories > 0, "{runtime}");
        assert_eq!(seen.committed > 0, runtime != Runtime::Net31, "{runtime}");
        let [most, least] = [seen.pauses.iter().max(), seen.pauses.iter().min()].map(|count| *count.unwrap());
        assert!(least > 0 && most <= least + 2, "{runtime}: {:?}", seen.pauses);
        assert!(seen.ranges.contains(&Generation(2)), "{runtime}: {:?}", seen.ranges);
        let mean = seen.bytes / seen.ticks;
        assert!((90_000..200_000).contains(&mean), "{runtime}: a tick every {mean} bytes");
        assert!(seen.types.iter().any(|name| name.starts_with("Rendering.")), "{runtime}: {:?}", seen.types);
    }
}

#[test]
fn waits_for_a_lock_have_a_duration_and_since_8_an_owner() {
    #[derive(Default)]
    struct Seen {
        threads: BTreeSet<ThreadId>,
        owners: BTreeMap<ThreadId, u64>,
        locks: BTreeSet<u64>,
        starts: u64,
        stops: u64,
        nanoseconds: f64,
    }
    for runtime in PATIENTS {
        let subject = Subject::start("lock-contention", runtime);
        let seen: Seen = subject.watch(
            &runtime_events(keyword::CONTENTION),
            |seen, event, decoded| match decoded {
                RuntimeEvent::ContentionStart(start) => {
                    seen.starts += 1;
                    seen.threads.insert(event.thread());
                    seen.locks.extend(start.lock.map(|lock| lock.0));
                    if let Some(owner) = start.owner {
                        *seen.owners.entry(owner).or_default() += 1;
                    }
                }
                RuntimeEvent::ContentionStop(stop) => {
                    seen.stops += 1;
                    seen.nanoseconds += stop.nanoseconds.unwrap_or_default();
                }
                _ => {}
            },
            |seen| seen.stops > 50,
        );
        println!("{runtime}: {} owners {:?} threads {:?}", seen.owners.len(), seen.owners, seen.threads);
        assert!(seen.starts + 10 > seen.stops && seen.threads.len() >= 2, "{runtime}");
        assert_eq!(seen.owners.is_empty(), runtime == Runtime::Net31, "{runtime}");
        assert_eq!(seen.locks.is_empty(), runtime == Runtime::Net31, "{runtime}");
        if runtime != Runtime::Net31 {
            let known: u64 =
                seen.owners.iter().filter(|(thread, _)| seen.threads.contains(thread)).map(|(_, n)| n).sum();
            assert!(known * 2 > seen.starts, "{runtime}: {:?} are not {:?}", seen.owners, seen.threads);
        }
        assert!(seen.nanoseconds > 1e6, "{runtime}: {} ns", seen.nanoseconds);
    }
}

#[test]
fn a_starving_pool_says_so() {
    #[derive(Default)]
    struct Seen {
        workers: u32,
        starvation: u64,
        enqueued: BTreeSet<i64>,
        dequeued: u64,
    }
    for runtime in PATIENTS {
        let subject = Subject::start("pool-starvation", runtime);
        let mut request = runtime_events(keyword::THREADING | keyword::THREAD_TRANSFER);
        request.providers.push(session::with_arguments(provider::FRAMEWORK, 0x2, ""));
        let seen: Seen = subject.watch(
            &request,
            |seen, _, decoded| match decoded {
                RuntimeEvent::WorkerStart(threads) | RuntimeEvent::WorkerWait(threads) => {
                    seen.workers = seen.workers.max(threads.active);
                }
                RuntimeEvent::Adjustment(adjustment) => {
                    assert!(adjustment.average_throughput >= 0.0, "{adjustment:?}");
                    assert!((1..=1000).contains(&adjustment.workers), "{adjustment:?}");
                    let cause = adjustment.reason;
                    seen.starvation += u64::from(cause == AdjustmentReason::Starvation);
                    // A blocking `Task.Wait` tells the pool since .NET 6.
                    seen.starvation += u64::from(cause == AdjustmentReason::CooperativeBlocking);
                }
                RuntimeEvent::ManagedWorkEnqueue(work) => drop(seen.enqueued.insert(work.id)),
                RuntimeEvent::ManagedWorkDequeue(work) => {
                    seen.dequeued += u64::from(seen.enqueued.contains(&work.id));
                }
                _ => {}
            },
            |seen| seen.starvation > 1 && seen.workers > 4 && seen.enqueued.len() > 20,
        );
        assert!((5..1000).contains(&seen.workers), "{runtime}: {} workers", seen.workers);
        println!("{runtime}: {} enqueued, {} dequeued", seen.enqueued.len(), seen.dequeued);
    }
}

#[test]
fn the_rundown_names_methods_modules_and_threads() {
    #[derive(Default)]
    struct Seen {
        methods: u64,
        named: u64,
        maps: u64,
        modules: BTreeSet<String>,
        assemblies: u64,
        threads: BTreeSet<ThreadId>,
        runtimes: Vec<u16>,
    }
    for runtime in EVERY {
        let subject = Subject::start("exception-storm", runtime);
        let request = runtime_events(keyword::GC);
        let request = TraceRequest { rundown: Rundown::Default, ..request };
        let seen: Seen = subject.watch(
            &request,
            |seen, _, decoded| match decoded {
                RuntimeEvent::MethodRundown(method) => {
                    assert!(method.start.0 != 0 && method.code_bytes > 0, "{method:?}");
                    seen.methods += 1;
                    let ours = method.namespace == "Import.PriceFeed" && method.name == "ParseAmount";
                    if ours && method.signature.to_string().contains("int32") {
                        assert!(method.flags.is_jitted() && !method.flags.is_generic(), "{method:?}");
                        seen.named += 1;
                    }
                }
                RuntimeEvent::IlToNativeMapRundown(map) => {
                    assert_eq!(map.entries().len(), map.len());
                    seen.maps += 1;
                }
                RuntimeEvent::ModuleRundown(module) => drop(seen.modules.insert(module.path.to_string())),
                RuntimeEvent::AssemblyRundown(_) => seen.assemblies += 1,
                RuntimeEvent::ThreadRundown(thread) => drop(seen.threads.insert(thread.os_thread)),
                RuntimeEvent::RuntimeRundown(info) => seen.runtimes.push(info.major),
                _ => {}
            },
            |_| true,
        );
        println!(
            "{runtime}: {} methods, {} maps, {} threads, {:?}",
            seen.methods,
            seen.maps,
            seen.threads.len(),
            seen.runtimes
        );
        assert!(seen.methods > 100 && seen.assemblies > 3 && seen.runtimes.len() == 1, "{runtime}");
        if runtime != Runtime::Net10 {
            assert!(seen.named > 0, "{runtime}: the method is not there");
            assert!(seen.modules.iter().any(|path| path.ends_with("Patients.dll")), "{:?}", seen.modules);
        }
    }
}
