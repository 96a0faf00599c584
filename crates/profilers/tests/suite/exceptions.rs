//! `exceptions` on real programs.

use crate::support;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::support::{Patient, finds_the_illness, look, process, rows};
use model::{Cell, WindowEnd};
use profilers::{Control, Run, Settings, Stop, by_id, run};
use testbed::{Runtime, Target};

#[test]
fn a_storm_is_found_with_the_method_that_throws() {
    finds_the_illness("exceptions", "exception-storm", 2.0, &[]);
}

#[test]
fn a_storm_is_described() {
    let target = testbed::shared().target("exception-storm", Runtime::Net9).start().unwrap();
    let report = look("exceptions", &target, 2.0, &[]);
    let thrown = &rows(&report, "exceptions")[0];
    assert_eq!(thrown[0], Cell::from("System.FormatException"));
    let Cell::Text(place) = &thrown[1] else { panic!("{thrown:?}") };
    assert!(place.starts_with("Import.PriceFeed.ParseAmount"), "{place}");
    let Cell::Fraction(caught) = &thrown[4] else { panic!("{thrown:?}") };
    assert!(*caught > 95.0, "{caught}");
    let Cell::Text(message) = &rows(&report, "messages")[0][0] else { panic!("{report:?}") };
    assert!(message.contains("19,90 EUR"), "{message}");
    let Cell::Text(handler) = &rows(&report, "handlers")[0][0] else { panic!("{report:?}") };
    assert!(handler.starts_with("Import.PriceFeed.ReadRow"), "{handler}");
}

#[test]
fn the_threshold_of_a_storm_can_be_set() {
    let target = testbed::shared().target("exception-storm", Runtime::Net9).arg("rate=50").start().unwrap();
    assert!(look("exceptions", &target, 2.0, &[]).findings.is_empty());
    support::look_until_found("exceptions", &target, 2.0, &["storm=3"], "exception-storm");
}

#[test]
fn the_report_of_a_program_that_dies_of_an_exception_covers_the_time_until_then() {
    for runtime in Runtime::ALL {
        let target = testbed::shared().target("exception-storm", runtime).arg("crash=12000").start().unwrap();
        let profiler = by_id("exceptions").unwrap();
        let settings = Settings::new(profiler.spec(), []).unwrap();
        let duration = Duration::from_secs(300);
        let process = process(&target);
        let report = run(profiler, &Run::new(&process, &settings, duration, &Patient)).unwrap();
        assert_eq!(report.window.end, WindowEnd::TargetExited);
        assert!(report.window.measured_ns < 300_000_000_000);
        assert_eq!(rows(&report, "exceptions")[0][0], Cell::from("System.FormatException"));
        assert!(
            report.notes.iter().any(|note| note.contains("its last tenth of a second")),
            "{:?}",
            report.notes
        );
    }
}

/// Wants the report after a moment.
struct Hurry(AtomicU32);

impl Control for Hurry {
    fn wait(&self, time: Duration) -> Stop {
        std::thread::sleep(time);
        if self.0.fetch_add(1, Ordering::Relaxed) < 20 { Stop::TimeOver } else { Stop::Cancelled }
    }

    fn progress(&self, _: Duration, _: Duration, _: &str) {}
}

#[test]
fn the_report_of_a_user_in_a_hurry_has_names_and_says_so() {
    let target = testbed::shared().target("exception-storm", Runtime::Net9).start().unwrap();
    let profiler = by_id("exceptions").unwrap();
    let settings = Settings::new(profiler.spec(), []).unwrap();
    let (duration, control) = (Duration::from_secs(300), Hurry(AtomicU32::new(0)));
    let process = process(&target);
    let report = run(profiler, &Run::new(&process, &settings, duration, &control)).unwrap();
    assert_eq!(report.window.end, WindowEnd::Cancelled);
    assert!(report.summary.contains("Import.PriceFeed.ParseAmount:"), "with its line: {}", report.summary);
    assert!(target.is_alive());
}

/// On a target that other questions share.
pub fn a_strangers_program_throws_nothing(target: &Target) {
    let report = look("exceptions", target, 2.0, &[]);
    assert!(report.summary.starts_with("No exception was thrown in "), "{}", report.summary);
    assert!(report.findings.is_empty() && report.sections.is_empty());
    assert!(target.is_alive());
}
