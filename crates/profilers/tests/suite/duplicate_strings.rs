//! `duplicate-strings` on real programs.

use std::time::Duration;

use crate::support::{Patient, finds_the_illness, look, look_until_found, process, rows};
use model::{Body, Cell, Redaction, Report};
use profilers::{Run, Settings, SharedCode, Sharing, by_id, run};
use testbed::{Runtime, Target, shared};

const EVERY: [Runtime; 4] = Runtime::ALL;
const PATIENT: &str = "unbounded-cache-duplicate-strings";

fn show(report: &Report) -> String {
    reports::terminal::render(report, &reports::TerminalStyle::default())
}

fn number(cell: &Cell) -> u64 {
    match cell {
        Cell::Number(number) => *number,
        _ => 0,
    }
}

fn text(cell: &Cell) -> &str {
    match cell {
        Cell::Text(text) => text,
        _ => "",
    }
}

#[test]
fn copies_in_a_cache_are_found() {
    finds_the_illness("duplicate-strings", PATIENT, 1.0, &[]);
}

/// A cache that has stopped to grow: every fourth of its entries has the same three strings.
#[test]
fn copies_and_sizes_are_exact_and_their_holder_is_told() {
    for runtime in EVERY {
        let target = shared().target(PATIENT, runtime).arg("cap=16").start().expect("the patient starts");
        let report = look_until_found("duplicate-strings", &target, 1.0, &["top=100"], "duplicate-strings");
        println!("{runtime}\n{}", show(&report));
        // 16 MB of entries of about 360 bytes.
        let entries = (16_u64 << 20) / 360 + 1;
        let found = rows(&report, "strings");
        for (name, size) in
            [("Freie und Hansestadt Hamburg", 80), ("Auvergne-Rhone-Alpes", 64), ("Canarias", 40)]
        {
            let row = found.iter().find(|row| text(&row[4]) == name).expect("the string");
            let (wasted, copies, each) = (number(&row[0]), number(&row[1]), number(&row[2]));
            assert_eq!(each, size, "{name}");
            assert_eq!(wasted, (copies - 1) * size, "{name}");
            // The cache may have one entry more than expected, and the program's own text is one more.
            assert!(copies.abs_diff(entries / 4) <= 3, "{name}: {copies} of {entries}");
            assert!(text(&row[5]).contains("Geo.Address"), "{row:?}");
        }
        let holder = &rows(&report, "holders")[0];
        assert!(text(&holder[1]).starts_with("static Geo.AddressCache.s_entries"), "{holder:?}");
        assert!(report.notes.iter().any(|note| note.contains("strings were read")), "{:?}", report.notes);
    }
}

#[test]
fn no_text_is_told_when_it_is_redacted() {
    let target = shared().target(PATIENT, Runtime::Net9).arg("cap=16").start().expect("the patient starts");
    let profiler = by_id("duplicate-strings").expect("the profiler");
    let settings = Settings::new(profiler.spec(), []).expect("settings").with_redaction(Redaction::On);
    let process = process(&target);
    let duration = profiler.spec().duration;
    let report = run(profiler, &Run::new(&process, &settings, duration, &Patient)).expect("a report");
    let shown = show(&report);
    assert!(!rows(&report, "strings").is_empty());
    for part in ["Hamburg", "Lyon", "Portugal"] {
        assert!(!shown.contains(part), "{shown}");
        let body = |section: &model::Section| match &section.body {
            Body::Table(table) => table.rows.iter().flatten().any(|cell| text(cell).contains(part)),
            _ => false,
        };
        assert!(!report.sections.iter().any(body), "{part}");
    }
}

/// On a target that other questions share.
pub fn a_strangers_strings_are_read_and_healthy(target: &Target) {
    let report = look("duplicate-strings", target, 1.0, &[]);
    println!("{}", show(&report));
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert!(!rows(&report, "strings").is_empty());
    assert!(target.is_alive());
}

/// Hands a heap on from one profiler to the next.
#[derive(Default)]
struct HandsOn(std::sync::Mutex<Option<heap_collector::Taken>>);

impl Sharing for HandsOn {
    fn hand_on_heap(&self, taken: heap_collector::Taken) {
        *self.0.lock().expect("nobody panicked") = Some(taken);
    }

    fn handed_on_heap(&self) -> Option<heap_collector::Taken> {
        self.0.lock().expect("nobody panicked").take()
    }

    fn hand_on_code(&self, _: SharedCode) {}

    fn handed_on_code(&self) -> Option<SharedCode> {
        None
    }

    fn expects_code(&self) -> bool {
        true
    }
}

#[test]
fn a_heap_that_was_taken_a_moment_before_is_not_taken_again() {
    for runtime in EVERY {
        let target = shared().target(PATIENT, runtime).arg("cap=16").start().expect("the patient starts");
        let (process, sharing) = (process(&target), HandsOn::default());
        let ask = |id: &str| {
            let profiler = by_id(id).expect("the profiler");
            let settings = Settings::new(profiler.spec(), []).expect("the settings");
            let duration = Duration::from_millis(200);
            let asked = Run::new(&process, &settings, duration, &Patient).sharing(&sharing);
            run(profiler, &asked).expect("a report")
        };
        assert_eq!(ask("memory-leaks").cost.pauses.count, 2, "{runtime}");
        let report = ask("duplicate-strings");
        assert_eq!(report.cost.pauses.count, 0, "{runtime}: {:?}", report.notes);
        let culprit = report.findings.first().and_then(|found| found.culprit.as_ref());
        let name = culprit.map(|culprit| culprit.name.as_str());
        assert_eq!(name, Some("Geo.AddressCache.s_entries"), "{runtime}: {:?}", report.notes);
        assert!(sharing.handed_on_heap().is_none(), "it is used once");
    }
}
