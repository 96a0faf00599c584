//! What is written for other tools, from a fixed list of values.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use counters::export::exposition::{Exposed, Exposition, render};
use counters::export::{Zone, csv, json};
use proptest::prelude::*;

use counters::{Board, Counter, CounterSource, Quantile, Reading, Told, Update};

const SECOND: Duration = Duration::from_secs(1);

fn check(name: &str, text: &str) {
    golden::check(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name), text);
}

fn event_counter(name: &str, display: &str, unit: Option<&str>) -> Counter {
    Counter {
        source: CounterSource::EventCounter,
        provider: "System.Runtime".into(),
        name: name.into(),
        display_name: Some(display.into()),
        unit: unit.map(str::to_owned),
        description: None,
        meter_tags: String::new(),
        instrument_tags: String::new(),
    }
}

fn instrument(name: &str, unit: Option<&str>, description: &str) -> Counter {
    Counter {
        source: CounterSource::Meter,
        provider: "Shop.Orders".into(),
        name: name.into(),
        display_name: None,
        unit: unit.map(str::to_owned),
        description: Some(description.into()),
        meter_tags: "region=eu".into(),
        instrument_tags: "team=blue".into(),
    }
}

/// Values of every kind, hostile names among them.
fn updates() -> Vec<Update> {
    let hostile = Counter {
        provider: "Evil\"Provider\n,\u{1b}[2J".into(),
        name: "=cmd|' /C calc'!A0\",x\u{202e}".into(),
        description: Some("back\\slash\nand \"quotes\"".into()),
        ..instrument("", Some("a,b"), "")
    };
    let quantile = |quantile, value| Quantile { quantile, value };
    let histogram = Reading::Histogram {
        quantiles: vec![quantile(0.5, 10.25), quantile(0.95, 97.0), quantile(0.99, 1e16)],
        count: Some(200),
        sum: Some(2050.5),
    };
    let empty = Reading::Histogram { quantiles: Vec::new(), count: Some(0), sum: Some(0.0) };
    let seconds = instrument("latency", Some("s"), "How long an order takes");
    let list: Vec<(Counter, &str, Reading)> = vec![
        (event_counter("cpu-usage", "CPU Usage", Some("%")), "", Reading::Gauge(12.5)),
        (
            event_counter("alloc-rate", "Allocation Rate", Some("B")),
            "",
            Reading::Increment { by: 8_168.0, per: SECOND },
        ),
        (
            event_counter("exception-count", "Exception Count", None),
            "",
            Reading::Increment { by: 3.0, per: 2 * SECOND },
        ),
        (event_counter("requests", "Requests", Some("count")), "host:a,port:80", Reading::Gauge(7.0)),
        (
            instrument("orders", Some("{order}"), "Orders"),
            "kind=web,paid=cash, or card",
            Reading::Counter { by: 5.0, total: Some(1_005.0) },
        ),
        (instrument("old.orders", None, "Orders before 8"), "", Reading::Counter { by: 5.0, total: None }),
        (instrument("queue", Some("{order}"), "Waiting"), "", Reading::UpDown { by: -2.0, value: 3.0 }),
        (instrument("size", Some("By"), "Bytes"), "pid=7,quantile=x,a.b=1,a_b=2", Reading::Gauge(1e15)),
        (seconds.clone(), "kind=web", histogram),
        (seconds, "kind=phone", empty),
        (instrument("odd", None, "Not a number"), "", Reading::Gauge(f64::NAN)),
        (hostile, "key=va\"l\\ue\nend", Reading::Gauge(-0.000_012)),
    ];
    let at = SystemTime::UNIX_EPOCH + Duration::new(1_794_728_378, 123_456_700);
    let update = |(counter, tags, reading): (Counter, &str, Reading)| Update {
        counter: Arc::new(counter),
        tags: tags.to_owned(),
        reading,
        at,
    };
    list.into_iter().map(update).collect()
}

#[test]
fn csv_has_the_layout_of_dotnet_counters() {
    let mut text = csv::HEADER.to_owned();
    for update in updates() {
        csv::append(&mut text, &update, SECOND, &Zone::utc());
    }
    check("counter.csv", &text);
    // Every line has five fields, also for a reader who knows quotes.
    for line in text.lines() {
        let mut quoted = false;
        let commas = line.chars().filter(|c| {
            quoted ^= *c == '"';
            *c == ',' && !quoted
        });
        assert_eq!(commas.count(), 4, "{line}");
        assert!(!line.contains(char::is_control), "{line:?}");
    }
}

#[test]
fn json_has_the_layout_of_dotnet_counters_and_is_json() {
    let started = SystemTime::UNIX_EPOCH + Duration::from_secs(1_794_728_377);
    let mut text = json::header("Shop \"Api\"\u{1b}", started, &Zone::utc());
    let mut rows = 0;
    for update in updates() {
        rows += json::append(&mut text, &update, SECOND, &Zone::utc(), rows == 0);
    }
    text += json::FOOTER;
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value["Events"].as_array().map(Vec::len), Some(rows));
    assert_eq!(value["TargetProcess"], "Shop \"Api\"\u{1b}");
    assert!(!text.contains(char::is_control), "{text:?}");
    check("counter.json", &text.replace("},{", "},\n{"));
}

fn board() -> Board {
    let mut board = Board::default();
    for _ in 0..2 {
        for update in updates() {
            board.take(Told::Update(update));
        }
    }
    board
}

#[test]
fn both_text_formats_hold_the_newest_values_of_several_processes() {
    let (one, other, gone) = (board(), board(), board());
    let exposed = |pid, process, board, up| Exposed { pid, process, board, up, shown: up };
    let processes = [
        exposed(4242, "Shop.Api", &one, true),
        exposed(77, "Bad\"\n\u{1b}[2J", &other, true),
        exposed(9, "Gone", &gone, false),
    ];
    check("counter.openmetrics", &render(Exposition::OpenMetrics, &processes));
    check("counter.prom", &render(Exposition::Prometheus, &processes));
}

#[test]
fn names_that_would_collide_are_kept_apart() {
    let mut board = Board::default();
    let counter = |name: &str| Arc::new(instrument(name, None, "Some"));
    let quantiles = vec![Quantile { quantile: 0.5, value: 1.0 }];
    for (name, tags, reading) in [
        ("a.b", "", Reading::Gauge(1.0)),
        ("a_b", "", Reading::Counter { by: 2.0, total: None }),
        ("a-b", "", Reading::Gauge(3.0)),
        ("a.b.total", "", Reading::Gauge(4.0)),
        ("x", "", Reading::Histogram { quantiles, count: None, sum: None }),
        ("x.sum", "", Reading::Gauge(5.0)),
    ] {
        let (counter, tags) = (counter(name), tags.to_owned());
        board.take(Told::Update(Update { counter, tags, reading, at: SystemTime::UNIX_EPOCH }));
    }
    let process = Exposed { pid: 1, process: "p", board: &board, up: true, shown: true };
    check("collisions.openmetrics", &render(Exposition::OpenMetrics, &[process]));
}

/// Whether a line is a sample: a name, labels in braces whose quotes are closed, a number.
fn is_sample(line: &str) -> bool {
    let Some((name, rest)) = line.split_once('{') else { return false };
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    let is_name = starts && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let (mut quoted, mut escape, mut end) = (false, false, None);
    for (at, c) in rest.char_indices() {
        match c {
            _ if escape => escape = false,
            '\\' if quoted => escape = true,
            '"' => quoted = !quoted,
            '}' if !quoted => {
                end = Some(at);
                break;
            }
            _ => {}
        }
    }
    let number = end.and_then(|at| rest.get(at + 2..));
    is_name && number.is_some_and(|number| number.parse::<f64>().is_ok() || number.ends_with("Inf"))
}

proptest! {
    #[test]
    fn whatever_names_a_program_has_the_text_formats_stay_sound(
        names in proptest::collection::vec((any::<String>(), any::<String>(), any::<String>(), any::<f64>()), 1..6)
    ) {
        let mut board = Board::default();
        for (provider, name, tags, value) in names {
            let counter = Counter { provider, ..instrument(&name, None, &tags) };
            let update = Update {
                counter: Arc::new(counter),
                tags,
                reading: Reading::Gauge(value),
                at: SystemTime::UNIX_EPOCH,
            };
            let mut text = String::new();
            csv::append(&mut text, &update, SECOND, &Zone::utc());
            prop_assert_eq!(text.lines().count(), 1);
            let mut text = json::header(&name, SystemTime::UNIX_EPOCH, &Zone::utc());
            json::append(&mut text, &update, SECOND, &Zone::utc(), true);
            prop_assert!(serde_json::from_str::<serde_json::Value>(&(text + json::FOOTER)).is_ok());
            board.take(Told::Update(update));
        }
        let process = Exposed { pid: 1, process: "p", board: &board, up: true, shown: true };
        for format in [Exposition::Prometheus, Exposition::OpenMetrics] {
            let text = render(format, &[process]);
            for line in text.split_terminator('\n') {
                prop_assert!(line.starts_with("# ") || is_sample(line), "{}", line);
                prop_assert!(!line.contains(char::is_control), "{}", line);
            }
        }
    }
}
