//! Events that only some programs cause: handlers other than catch, unloading, dependent handles, waits.

use std::time::Duration;

use std::collections::BTreeSet;

use crate::session::{PATIENTS, Subject, runtime_events};
use diagnostics_ipc::{Rundown, TraceRequest};
use runtime_events::handle::HandleKind;
use runtime_events::{RuntimeEvent, keyword};
use testbed::Runtime;

#[test]
fn finally_blocks_and_filters_are_told_of() {
    for runtime in PATIENTS {
        let subject = Subject::start("healthy-plugin-host", runtime);
        let seen: BTreeSet<String> = subject.watch(
            &runtime_events(keyword::EXCEPTION),
            |seen, _, decoded| match &decoded {
                RuntimeEvent::FinallyStart(handler) | RuntimeEvent::FilterStart(handler) => {
                    assert!(handler.entry.0 != 0 && handler.method.0 != 0, "{handler:?}");
                    seen.insert(decoded.name().to_owned());
                }
                RuntimeEvent::FinallyStop(_)
                | RuntimeEvent::FilterStop(_)
                | RuntimeEvent::CatchStart(_)
                | RuntimeEvent::ExceptionStop(_) => _ = seen.insert(decoded.name().to_owned()),
                _ => {}
            },
            |seen| seen.len() == 6,
        );
        println!("{runtime}: {seen:?}");
    }
}

#[derive(Default)]
struct Unloading {
    dependent: u64,
    modules: u64,
    assemblies: u64,
}

#[test]
fn dependent_handles_and_unloaded_code_are_told_of() {
    for runtime in PATIENTS {
        let subject = Subject::start("healthy-plugin-host", runtime);
        // The first collection finds plug-ins that nobody holds; the next ones free them.
        let mut all = Unloading::default();
        for _ in 0..20 {
            let seen: Unloading = subject.watch(
                &TraceRequest {
                    rundown: Rundown::None,
                    ..runtime_events(keyword::HEAP_SNAPSHOT | keyword::LOADER | keyword::JIT)
                },
                |seen, _, decoded| match decoded {
                    RuntimeEvent::DependentRoots(roots) => seen.dependent += roots.len() as u64,
                    RuntimeEvent::ModuleUnload(module) => {
                        assert!(module.id.0 != 0, "{module:?}");
                        seen.modules += 1;
                    }
                    RuntimeEvent::AssemblyUnload(assembly) => {
                        assert!(assembly.name.to_string().starts_with("Plugin"), "{assembly:?}");
                        seen.assemblies += 1;
                    }
                    _ => {}
                },
                |seen| seen.dependent > 0,
            );
            all.dependent += seen.dependent;
            all.modules += seen.modules;
            all.assemblies += seen.assemblies;
            if all.dependent > 0 && all.modules > 0 && all.assemblies > 0 {
                break;
            }
        }
        assert!(
            all.dependent > 0 && all.modules > 0 && all.assemblies > 0,
            "{runtime}: {} dependent handles, {} modules, {} assemblies unloaded",
            all.dependent,
            all.modules,
            all.assemblies
        );
    }
}

#[test]
fn code_made_at_run_time_is_told_of_when_it_goes() {
    for runtime in PATIENTS {
        let subject = Subject::start("jit-storm", runtime);
        // Code goes when two collections in a row found that nobody holds it.
        let mut unloaded = 0;
        for _ in 0..20 {
            let [seen, _]: [u64; 2] = subject.watch(
                &runtime_events(keyword::JIT | keyword::GC | keyword::GC_HEAP_COLLECT),
                |[unloads, collections], _, decoded| match decoded {
                    RuntimeEvent::MethodUnload(method) => {
                        assert!(method.start.0 != 0 && method.flags.is_dynamic(), "{method:?}");
                        *unloads += 1;
                    }
                    RuntimeEvent::FinalizersEnd(_) => *collections += 1,
                    _ => {}
                },
                |[unloads, collections]| *unloads > 0 || *collections > 0,
            );
            unloaded += seen;
            if unloaded > 0 {
                break;
            }
        }
        assert!(unloaded > 0, "{runtime}");
    }
}

#[test]
fn waits_for_other_things_than_locks_are_told_of_since_9() {
    let subject = Subject::start("healthy-plugin-host", Runtime::Net9);
    let _: [u64; 2] = subject.watch(
        &runtime_events(keyword::WAIT_HANDLE),
        |seen, _, decoded| match decoded {
            RuntimeEvent::WaitStart(_) => seen[0] += 1,
            RuntimeEvent::WaitStop(_) => seen[1] += 1,
            _ => {}
        },
        |[starts, stops]| *starts > 2 && *stops > 2,
    );
}

#[derive(Default)]
struct Handles {
    pinned: u64,
    freed: u64,
}

/// On 9 and 10 one session in five has a few dozen of these events and then no more until it ends (docs/runtime-facts.md), so a
/// program whose session falls silent is left for another one.
#[test]
fn handles_are_told_of() {
    const PROGRAMS: usize = 5;
    const SILENT_AFTER: Duration = Duration::from_secs(10);
    for runtime in PATIENTS {
        let seen: Option<Handles> = (0..PROGRAMS).find_map(|_| {
            Subject::start("pinned-buffers", runtime).watch_at_most(
                SILENT_AFTER,
                &runtime_events(keyword::GC_HANDLE),
                |seen: &mut Handles, _, decoded| match decoded {
                    RuntimeEvent::HandleCreated(made) if made.kind == HandleKind::Pinned => {
                        assert!(
                            made.handle.0 != 0 && made.object.0 != 0 && made.generation.0 <= 4,
                            "{made:?}"
                        );
                        seen.pinned += 1;
                    }
                    RuntimeEvent::HandleDestroyed(freed) => {
                        assert!(freed.handle.0 != 0, "{freed:?}");
                        seen.freed += 1;
                    }
                    _ => {}
                },
                |seen: &Handles| seen.pinned >= 100 && seen.freed >= 100,
            )
        });
        let seen = seen.unwrap_or_else(|| panic!("{runtime}: the events have not come"));
        println!("{runtime}: {} pinned, {} freed", seen.pinned, seen.freed);
    }
}
