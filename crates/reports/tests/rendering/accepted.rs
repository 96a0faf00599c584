//! What each format makes of three reports. `cargo xtask bless` accepts a change.

use crate::samples;
use model::{Report, WindowEnd};
use reports::terminal::{self, Colour, TerminalStyle};
use reports::{FORMATS, Format};

fn check(name: &str, report: &Report) {
    for format in FORMATS {
        let file = format!("{}/tests/golden/{name}.{}", env!("CARGO_MANIFEST_DIR"), format.extension);
        golden::check(file, &format.render(report));
    }
}

#[test]
fn a_full_report() {
    check("full", &samples::full());
}

#[test]
fn a_hostile_report() {
    check("hostile", &samples::hostile());
}

#[test]
fn a_healthy_report() {
    check("healthy", &samples::healthy());
}

#[test]
fn a_full_report_in_colour() {
    let style = TerminalStyle { colour: Colour::Always, ..TerminalStyle::default() };
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/full.colour.txt");
    golden::check(file, &terminal::render(&samples::full(), &style));
}

#[test]
fn every_end_of_a_window_is_told() {
    let terminal = Format::by_id("terminal").unwrap();
    let mut report = samples::healthy();
    for (end, requested_ns, measured_ns, told) in [
        (WindowEnd::Completed, 10_000_000_000, 10_010_000_000, ", measured for 10 s\n"),
        (WindowEnd::Completed, 0, 900, "2026-11-15 04:39:35Z\n"),
        (WindowEnd::Cancelled, 10_000_000_000, 3_200_000_000, ", ended early by you after 3.2 s of 10 s\n"),
        (WindowEnd::TargetExited, 10_000_000_000, 3_200_000_000, ", the target exited after 3.2 s of 10 s\n"),
        (WindowEnd::TargetExited, 0, 3_200_000_000, ", the target exited after 3.2 s\n"),
    ] {
        report.window.end = end;
        report.window.requested_ns = requested_ns;
        report.window.measured_ns = measured_ns;
        let text = terminal.render(&report);
        assert!(text.contains(told), "{text}");
    }
}
