//! What two recordings say against each other.

use std::time::{Duration, UNIX_EPOCH};

use profile_diff::{By, DiffError, Difference, diff};
use profile_formats::read_folded;
use stacks::{Sample, Weight};
use stored_profiles::{Recording, Side};

const MS: u64 = 1_000_000;

/// A recording of so many seconds at 100 samples a second: the number of samples of each stack.
fn recorded(name: &str, seconds: u64, folded: &str) -> Recording {
    let mut profile = read_folded(folded.as_bytes()).expect("folded stacks");
    profile.weight = Weight::Nanoseconds;
    profile.title = "time on the CPU".to_owned();
    profile.process = Some(4242);
    let each = |sample: &Sample| {
        (0..sample.weight).map(|_| Sample { weight: 10 * MS, ..*sample }).collect::<Vec<_>>()
    };
    profile.samples = profile.samples.iter().flat_map(each).collect();
    Recording {
        name: name.to_owned(),
        started: Some(UNIX_EPOCH + Duration::from_secs(1_800_000_000 + seconds)),
        duration_ns: seconds * 1000 * MS,
        rate_hz: Some(100),
        ..Recording::of(Side::OnCpu, profile)
    }
}

const BEFORE: &str = "\
Shop!Shop.Program.Main;Shop!Shop.Orders.Handle;Shop!Shop.Prices.Best 200
Shop!Shop.Program.Main;Shop!Shop.Orders.Handle;System.Linq!System.Linq.Enumerable.Sum 300
Shop!Shop.Program.Main;libcoreclr!WKS::gc_heap::mark_object 100
";
const AFTER: &str = "\
Shop!Shop.Program.Main;Shop!Shop.Orders.Handle;Shop!Shop.Prices.Best 1600
Shop!Shop.Program.Main;Shop!Shop.Orders.Handle;System.Linq!System.Linq.Enumerable.Sum 610
Shop!Shop.Program.Main;libcoreclr!WKS::gc_heap::mark_object 20
Shop!Shop.Program.Main;Shop!Shop.Prices.Load 30
";

#[track_caller]
fn own_change(difference: &Difference<'_>, name: &str) -> f64 {
    let method = difference.methods.iter().find(|method| method.frame.name == name).expect("a method");
    (difference.change(method.own) * 10.0).round() / 10.0
}

#[test]
fn by_time_what_takes_the_same_each_second_is_unchanged() {
    // Twice as long.
    let (before, after) = (recorded("Shop", 10, BEFORE), recorded("Shop", 20, AFTER));
    let difference = diff(&before, &after, Side::OnCpu, None).unwrap();
    assert_eq!(difference.by, By::Time);
    assert_eq!(own_change(&difference, "Shop.Prices.Best"), 60.0);
    assert_eq!(own_change(&difference, "System.Linq.Enumerable.Sum"), 0.5);
    assert_eq!(own_change(&difference, "WKS::gc_heap::mark_object"), -9.0);
    assert_eq!(own_change(&difference, "Shop.Prices.Load"), 1.5);
    assert_eq!(own_change(&difference, "Shop.Orders.Handle"), 0.0);
    assert_eq!(difference.factor(), 2.0);
    let report = difference.report(10, "0.0.0");
    golden::check(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/report.txt"),
        &reports::terminal::render(&report, &reports::TerminalStyle::default()),
    );
    assert_eq!(model::Report::from_json(&report.to_json().unwrap()).unwrap(), report);
}

#[test]
fn by_total_shares_are_compared() {
    let (before, after) = (recorded("Shop", 10, BEFORE), recorded("Shop", 20, AFTER));
    let difference = diff(&before, &after, Side::OnCpu, Some(By::Total)).unwrap();
    assert_eq!(own_change(&difference, "Shop.Prices.Best"), 37.5);
    assert_eq!(own_change(&difference, "System.Linq.Enumerable.Sum"), -23.0);
}

#[test]
fn what_chance_alone_would_do_is_no_finding() {
    let before = recorded("Shop", 10, "Shop!Shop.A 100\nShop!Shop.B 100\n");
    let after = recorded("Shop", 10, "Shop!Shop.A 115\nShop!Shop.B 170\n");
    let difference = diff(&before, &after, Side::OnCpu, None).unwrap();
    let report = difference.report(10, "0.0.0");
    let named: Vec<&str> =
        report.findings.iter().filter_map(|finding| Some(finding.culprit.as_ref()?.name.as_str())).collect();
    assert_eq!(named, ["Shop.B"]);
    let same = diff(&before, &before, Side::OnCpu, None).unwrap().report(10, "0.0.0");
    assert!(same.findings.is_empty() && same.sections.is_empty(), "{same:?}");
    assert!(same.summary.contains("is as it was"), "{}", same.summary);
}

#[test]
fn folded_stacks_are_compared_by_share_with_a_recording() {
    let before = Recording::of(Side::OnCpu, read_folded(BEFORE.as_bytes()).unwrap());
    let after = recorded("Shop", 20, AFTER);
    let difference = diff(&before, &after, Side::OnCpu, None).unwrap();
    assert_eq!((difference.by, own_change(&difference, "Shop.Prices.Best")), (By::Total, 37.5));
    assert!(difference.chance(&difference.methods[0]).is_none());
    assert_eq!(diff(&before, &after, Side::OnCpu, Some(By::Time)).unwrap_err(), DiffError::NoTimes);
    let error = diff(&before, &after, Side::OffCpu, None).unwrap_err();
    assert_eq!(error, DiffError::NoSamples { is_first: true, sides: vec![Side::OnCpu] });
}

#[test]
fn the_picture_is_sound_and_coloured_by_change() {
    let (before, after) = (recorded("Shop", 10, BEFORE), recorded("<b>&", 20, AFTER));
    let difference = diff(&before, &after, Side::OnCpu, None).unwrap();
    let mut svg = Vec::new();
    difference.write_svg(&mut svg).unwrap();
    let svg = String::from_utf8(svg).unwrap();
    let mut reader = quick_xml::Reader::from_str(&svg);
    while !matches!(reader.read_event().unwrap(), quick_xml::events::Event::Eof) {}
    // 16 s of 20 s now, 4 s of 20 s before.
    assert!(svg.contains("Shop!Shop.Prices.Best (16,000,000 \u{b5}s, 70.80%; +53.10%)"), "{svg}");
    assert!(svg.contains("WKS::gc_heap::mark_object (200,000 \u{b5}s, 0.88%; -7.96%)"), "{svg}");
    let mut page = Vec::new();
    difference.write_page(&mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(
        page.contains("\"isDifference\":true") && page.contains("&lt;b&gt;&amp;"),
        "the title is escaped"
    );
}
