//! Views of the recorded traces, as they were accepted.

use std::fmt::Write as _;

use profile_formats::Grouping;
use trace_views::{Detail, Request, View, Wanted, read};

const FIXTURES: [&str; 10] = [
    "net10-counters",
    "net10-stranger-samples",
    "net31-allocations",
    "net31-exceptions-samples",
    "net8-counters",
    "net8-exceptions-samples",
    "net9-allocations",
    "net9-exceptions-samples",
    "synthetic-v5",
    "synthetic-v6",
];

/// How many lines of a view are kept.
const LINES: usize = 8;

#[test]
fn views_of_fixtures_are_as_accepted() {
    let crates = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    for name in FIXTURES {
        let trace = std::fs::read(format!("{crates}/nettrace/fixtures/{name}.nettrace")).unwrap();
        let best = read(trace.as_slice(), &Request::new(Wanted::Best, Detail::Totals)).unwrap();
        let mut text = format!(
            "best {:?}, {} events, {} threads, runtime {:?}, {} ms\n",
            best.view.map(View::id),
            best.summary.events,
            best.summary.threads,
            best.summary.runtime,
            best.summary.duration_ns / 1_000_000,
        );
        for count in &best.summary.views {
            let request = Request::new(Wanted::View(count.view), Detail::Totals);
            let reading = read(trace.as_slice(), &request).unwrap();
            let _ = writeln!(text, "\n{}: {} {}", count.view.id(), count.events, count.view.events());
            let Some(profile) = reading.profile else { continue };
            let names = reading.summary.names;
            let _ = writeln!(
                text,
                "total {}, {} of {} addresses unnamed",
                profile.total(),
                names.unnamed,
                names.addresses
            );
            let mut folded = Vec::new();
            let format = profile_formats::by_id("folded").unwrap();
            format.write(&profile, Grouping::PerThread, &mut folded).unwrap();
            let folded = String::from_utf8(folded).unwrap();
            let mut lines: Vec<&str> = folded.lines().collect();
            let weight = |line: &&str| line.rsplit(' ').next().and_then(|word| word.parse::<u64>().ok());
            lines.sort_by_key(|line| (std::cmp::Reverse(weight(line)), *line));
            for line in lines.iter().take(LINES) {
                let _ = writeln!(text, "  {line}");
            }
        }
        golden::check(format!("{crates}/trace-views/tests/golden/{name}.txt"), &text);
    }
}
