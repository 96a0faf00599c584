//! `memory-leaks` on real programs.

use crate::support;

use std::cell::RefCell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::{Patient, look, look_until, process};
use heap_graph::HeapGraph;
use model::{Confidence, Finding, Report, Timestamp, WindowEnd};
use profilers::{Archive, Control, EarlierHeap, NotFound, Run, Settings, Stop, by_id, run};
use testbed::{Runtime, Target, shared};

const EVERY: [Runtime; 4] = Runtime::ALL;
/// Between two looks.
const APART: f64 = 1.5;

fn show(report: &Report) -> String {
    reports::terminal::render(report, &reports::TerminalStyle::default())
}

/// The leak of a patient is found with its kind, its culprit, and what must be on the way to it.
fn is_found(patient: &str, on_the_way: &[&str]) {
    let patient = testbed::patients().iter().find(|known| known.id == patient).expect("the patient");
    let wanted = patient.findings.first().copied().expect("a finding");
    for runtime in EVERY {
        let target = shared().target(patient.id, runtime).arg("cap=400").start().expect("the patient starts");
        let culprit = |finding: &Finding| {
            let named = finding.culprit.as_ref().map(|culprit| culprit.name.as_str());
            finding.id == wanted && named.is_some_and(|name| patient.culprits.contains(&name))
        };
        let report = look_until("memory-leaks", &target, APART, &["allow-pause=yes"], |report| {
            report.findings.iter().any(culprit)
        });
        println!("{runtime}\n{}", show(&report));
        // Nothing else is wrong with it.
        assert_eq!(report.findings.len(), 1, "{runtime}\n{}", show(&report));
        let finding = &report.findings[0];
        let path = evidence(finding, "Path");
        for part in on_the_way {
            assert!(path.contains(part), "{runtime}: {part} in {path}");
        }
        assert!(evidence(finding, "Growth").contains("an hour"), "{finding:?}");
        assert!(!finding.advice.is_empty() && target.is_alive(), "{runtime}");
    }
}

fn evidence<'a>(finding: &'a Finding, what: &str) -> &'a str {
    finding.evidence.iter().find(|known| known.what == what).map_or("", |known| &known.seen)
}

#[test]
fn a_static_list_is_found() {
    is_found(
        "leak-static-collection",
        &["static Shop.OrderHistory.s_orders", "List<Shop.Order>", "Shop.Order"],
    );
}

#[test]
fn event_handlers_are_found() {
    is_found("leak-event-handlers", &["static Desk.QuoteBoard.PriceChanged", "Desk.QuoteView"]);
}

/// The event of an object has its name from the metadata, and so does its own kind of delegate.
#[test]
fn event_handlers_of_objects_are_found() {
    for runtime in EVERY {
        let target = shared().target("leak-event-handlers", runtime).arg("cap=400").arg("feeds=2").start();
        let target = target.expect("the patient starts");
        let report = look_until("memory-leaks", &target, APART, &["allow-pause=yes"], |report| {
            !report.findings.is_empty()
        });
        let finding = &report.findings[0];
        let culprit = finding.culprit.as_ref().map(|culprit| culprit.name.as_str());
        assert_eq!(
            (finding.id.as_str(), culprit),
            ("event-handler-leak", Some("Desk.RateFeed.RateChanged")),
            "{runtime}\n{}",
            show(&report)
        );
        assert!(finding.title.contains("Desk.RateView"), "{}", finding.title);
    }
}

/// Few bytes, but open files all the same.
#[test]
fn open_files_are_found() {
    for runtime in EVERY {
        let target = shared().target("descriptor-leak", runtime).start().expect("the patient starts");
        let report =
            look_until("memory-leaks", &target, 3.0, &["looks=4"], |report| !report.findings.is_empty());
        let finding = &report.findings[0];
        let culprit = finding.culprit.as_ref().map(|culprit| culprit.name.as_str());
        assert_eq!(
            (finding.id.as_str(), culprit),
            ("handle-leak", Some("Archive.DocumentStore._recent")),
            "{runtime}\n{}",
            show(&report)
        );
    }
}

#[test]
fn timers_are_found() {
    is_found("leak-timers", &["System.Threading.TimerQueueTimer", "Sessions.Session"]);
}

#[test]
fn values_of_weak_tables_are_found() {
    is_found("leak-weak-table", &["Crm.Customer", "Crm.History", "Crm.Note"]);
}

#[test]
fn closures_are_found() {
    is_found("leak-closures", &["Newspaper.Printer", "_callbacks: ", "System.Action", "DisplayClass"]);
}

#[test]
fn operations_that_never_end_are_found() {
    is_found("leak-async", &["Gateway.Link"]);
}

#[test]
fn thread_statics_are_found() {
    is_found("leak-thread-static", &["thread-static Lab.Recorder.t_samples", "Lab.Sample"]);
}

#[test]
fn caches_without_a_bound_are_found() {
    is_found("leak-cache", &["Maps.TileCache", "_tiles: ", "ConcurrentDictionary"]);
}

#[test]
fn registrations_that_are_not_given_back_are_found() {
    is_found("leak-handles", &["static Relay.Service.s_stopping", "Relay.Request"]);
}

/// Dead objects whose finalizers do not run are no garbage: the queue holds them.
#[test]
fn a_finalizer_queue_that_grows_is_found() {
    for runtime in EVERY {
        // So much that a collection finds some dead between any two looks.
        let patient = shared().target("blocked-finalizer", runtime).arg("rate=60").arg("cap=600");
        let target = patient.start().expect("the patient");
        let report = look_until("memory-leaks", &target, APART, &["allow-pause=yes"], |report| {
            report.findings.iter().any(|finding| finding.id == "finalizer-queue-growth")
        });
        let finding = report.findings.iter().find(|finding| finding.id == "finalizer-queue-growth");
        let culprit =
            finding.and_then(|finding| finding.culprit.as_ref()).map(|culprit| culprit.name.as_str());
        assert_eq!(culprit, Some("Media.Surface"), "{runtime}\n{}", show(&report));
    }
}

#[test]
fn more_looks_make_it_surer() {
    let target = shared().target("leak-static-collection", Runtime::Net9).start().expect("the patient");
    let report = look_until("memory-leaks", &target, 2.0, &["looks=4", "allow-pause=yes"], |report| {
        !report.findings.is_empty()
    });
    assert_eq!(report.findings[0].confidence, Confidence::High, "{}", show(&report));
    assert_eq!(support::rows(&report, "looks").len(), 4);
    assert!(report.cost.pauses.count >= 4);
}

/// On a target that other questions share.
pub fn a_strangers_program_does_not_leak(target: &Target) {
    let report = look("memory-leaks", target, 2.0, &[]);
    assert!(report.findings.is_empty(), "{}", show(&report));
    assert!(target.is_alive());
}

/// Keeps heaps as a session does.
#[derive(Default)]
struct Keeping {
    kept: Mutex<RefCell<Vec<HeapGraph>>>,
}

impl Archive for Keeping {
    fn keep_heap(&self, _: &str, graph: &HeapGraph) -> Result<(), String> {
        self.kept.lock().expect("no panic").borrow_mut().push(graph.clone());
        Ok(())
    }

    fn earlier_heap(&self, which: &str) -> Result<EarlierHeap, NotFound> {
        let none = || NotFound { what: format!("no heap is called {which}"), next: Vec::new() };
        let number: usize = which.parse().map_err(|_| none())?;
        let graph = self.kept.lock().expect("no panic").borrow().get(number).cloned();
        let taken_at = Timestamp::now().checked_sub(Duration::from_secs(3600)).ok();
        Ok(EarlierHeap { graph: graph.ok_or_else(none)?, taken_at, process: Some("Other".to_owned()) })
    }
}

fn with(control: &Keeping, target: &Target, settings: &[&str]) -> Result<Report, profilers::ProfilerError> {
    let profiler = by_id("memory-leaks").expect("the profiler");
    let settings = Settings::new(profiler.spec(), settings.iter().copied()).expect("the settings");
    let duration = Duration::from_secs_f64(APART);
    run(profiler, &Run::new(&process(target), &settings, duration, &Patient).archive(control))
}

/// Ends the run as soon as the first heap is there.
struct Hurried(AtomicBool);

impl Control for Hurried {
    fn wait(&self, time: Duration) -> Stop {
        if self.0.load(Ordering::Relaxed) {
            return Stop::Cancelled;
        }
        std::thread::sleep(time);
        Stop::TimeOver
    }

    fn progress(&self, _: Duration, _: Duration, _: &str) {}
}

impl Archive for Hurried {
    fn keep_heap(&self, _: &str, _: &HeapGraph) -> Result<(), String> {
        self.0.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn earlier_heap(&self, which: &str) -> Result<EarlierHeap, NotFound> {
        Err(NotFound { what: which.to_owned(), next: Vec::new() })
    }
}

#[test]
fn who_ends_it_early_gets_a_report_of_two_looks() {
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().expect("the control");
    let profiler = by_id("memory-leaks").expect("the profiler");
    let settings = Settings::new(profiler.spec(), ["looks=50"]).expect("the settings");
    let control = Hurried(AtomicBool::new(false));
    let duration = Duration::from_secs(3600);
    let process = process(&target);
    let run_of = Run::new(&process, &settings, duration, &control).archive(&control);
    let report = run(profiler, &run_of).expect("a report");
    assert_eq!(report.window.end, WindowEnd::Cancelled);
    assert_eq!(support::rows(&report, "looks").len(), 2);
}

/// Ends the process when its first heap is there.
struct Deadly<'a>(&'a Target);

impl Archive for Deadly<'_> {
    fn earlier_heap(&self, which: &str) -> Result<EarlierHeap, NotFound> {
        Err(NotFound { what: which.to_owned(), next: Vec::new() })
    }

    fn keep_heap(&self, _: &str, _: &HeapGraph) -> Result<(), String> {
        self.0.kill().map_err(|error| error.to_string())
    }
}

#[test]
fn a_process_that_ends_between_two_looks_is_told_as_such() {
    for runtime in [Runtime::Net31, Runtime::Net9] {
        let target = shared().target("healthy-idle-service", runtime).start().expect("the control");
        let profiler = by_id("memory-leaks").expect("the profiler");
        let settings = Settings::new(profiler.spec(), []).expect("the settings");
        let duration = Duration::from_secs_f64(APART);
        let process = process(&target);
        let archive = Deadly(&target);
        let outcome = run(profiler, &Run::new(&process, &settings, duration, &Patient).archive(&archive));
        assert!(matches!(outcome, Err(profilers::ProfilerError::TargetEnded)), "{runtime}: {outcome:?}");
    }
}

#[test]
fn an_earlier_heap_stands_for_the_first_look() {
    let target = shared().target("leak-static-collection", Runtime::Net8).start().expect("the patient");
    let control = Keeping::default();
    let first = with(&control, &target, &[]).expect("a report");
    assert_eq!(control.kept.lock().expect("no panic").borrow().len(), 2, "{}", show(&first));
    let later = with(&control, &target, &["since=0"]).expect("a report");
    let finding = later.findings.first().unwrap_or_else(|| panic!("{}", show(&later)));
    assert_eq!(
        finding.culprit.as_ref().map(|culprit| culprit.name.as_str()),
        Some("Shop.OrderHistory.s_orders")
    );
    // One look only, against one of an hour ago.
    assert_eq!(later.cost.pauses.count, 1, "{:?}", later.cost);
    assert!(later.notes.iter().any(|note| note.contains("called Other")), "{:?}", later.notes);
    let none = with(&control, &target, &["since=nothing"]);
    assert!(matches!(&none, Err(profilers::ProfilerError::Earlier(_))), "{none:?}");
}
