//! The screen as it looks, against accepted ones.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use counters::{Counter, CounterSource, Note, Quantile, Reading, Told, Update};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

use super::{State, Status, block, draw, react};

fn counter(
    source: CounterSource,
    provider: &str,
    name: &str,
    unit: Option<&str>,
    meter_tags: &str,
) -> Arc<Counter> {
    Arc::new(Counter {
        source,
        provider: provider.to_owned(),
        name: name.to_owned(),
        display_name: (source == CounterSource::EventCounter).then(|| format!("The {name}")),
        unit: unit.map(str::to_owned),
        description: None,
        meter_tags: meter_tags.to_owned(),
        instrument_tags: String::new(),
    })
}

fn update(counter: &Arc<Counter>, tags: &str, reading: Reading) -> Told {
    let (counter, tags) = (Arc::clone(counter), tags.to_owned());
    Told::Update(Update { counter, tags, reading, at: SystemTime::UNIX_EPOCH })
}

/// Two processes with counters of every kind, after some intervals.
fn filled(now: Instant) -> State {
    let processes =
        [(4242, "Shop.Api".to_owned(), Some("9.0.7".to_owned())), (77, "Bad\u{1b}[2JName".to_owned(), None)];
    let mut state = State::new(processes, Duration::from_secs(1), now);
    let old = |name, unit| counter(CounterSource::EventCounter, "System.Runtime", name, unit, "");
    let meter = |name, unit| counter(CounterSource::Meter, "Shop.Orders", name, unit, "region=eu");
    let (cpu, rate) = (old("cpu-usage", Some("%")), old("alloc-rate", Some("B")));
    let (orders, price) = (meter("orders", Some("{order}")), meter("price", Some("EUR")));
    let latency = meter("latency", Some("s"));
    let (queue, heat) = (meter("queue\u{202e}", None), meter("temperature", Some("Cel")));
    for step in 0..12_u32 {
        let step = f64::from(step);
        let quantile = |quantile, value| Quantile { quantile, value };
        let quantiles = vec![quantile(0.5, 10.0 + step), quantile(0.95, 90.0 - step), quantile(0.99, 99.0)];
        for told in [
            update(&cpu, "", Reading::Gauge(step * 7.25)),
            update(&rate, "", Reading::Increment { by: 1_500_000.0 * step, per: Duration::from_secs(1) }),
            update(&orders, "kind=web", Reading::Counter { by: step, total: Some(1_000_000.0 + step) }),
            update(&orders, "kind=phone", Reading::Counter { by: 2.0, total: Some(24.0) }),
            update(&queue, "", Reading::UpDown { by: -1.0, value: 3.0 }),
            update(
                &latency,
                "method=GET,route=/today",
                Reading::Histogram {
                    quantiles: vec![quantile(0.5, 0.000_002_5), quantile(0.95, 0.031)],
                    count: Some(7),
                    sum: None,
                },
            ),
            update(
                &latency,
                "method=GET,route=/week",
                Reading::Histogram { quantiles: vec![], count: None, sum: None },
            ),
            update(&heat, "hall=red", Reading::Gauge(-3.5)),
            update(&price, "", Reading::Histogram { quantiles, count: Some(200), sum: Some(9.0) }),
        ] {
            state.take(0, told, now);
        }
        state.take(1, update(&cpu, "", Reading::Gauge(100.0 - step)), now);
    }
    state
}

fn press(state: &mut State, keys: &str) {
    for key in keys.chars() {
        let code = if key == '\n' { KeyCode::Enter } else { KeyCode::Char(key) };
        react(state, &Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }
}

fn screen(state: &mut State, columns: u16, lines: u16, now: Instant) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
    terminal.draw(|frame| draw(frame, state, now)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| (0..columns).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..lines).map(|y| format!("{}\n", line(y).trim_end())).collect()
}

#[track_caller]
fn check(name: &str, text: &str) {
    golden::check(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tui/counters/golden").join(name), text);
}

#[test]
fn a_wide_screen_shows_values_changes_and_trends() {
    let now = Instant::now();
    let mut state = filled(now);
    press(&mut state, "d");
    check("wide.txt", &screen(&mut state, 110, 26, now + Duration::from_secs(3)));
}

#[test]
fn a_common_screen_scrolls_filters_and_sorts() {
    let now = Instant::now();
    let mut state = filled(now);
    state.scroll = usize::MAX;
    check("scrolled.txt", &screen(&mut state, 80, 12, now));
    press(&mut state, "/KIND");
    check("filter-being-typed.txt", &screen(&mut state, 80, 12, now));
    press(&mut state, "\nsp");
    check("filtered-sorted-paused.txt", &screen(&mut state, 80, 12, now));
}

#[test]
fn a_target_that_ended_or_is_silent_keeps_its_values() {
    let now = Instant::now();
    let mut state = filled(now);
    state.end(0, Status::Ended);
    state.take(1, Told::Note(Note::SeriesLimit { limit: 1000 }), now);
    check("ended-and-silent.txt", &screen(&mut state, 80, 30, now + Duration::from_secs(30)));
}

#[test]
fn a_paused_screen_stands_still_while_values_come() {
    let now = Instant::now();
    let mut state = filled(now);
    press(&mut state, " ");
    let before = screen(&mut state, 80, 24, now);
    let cpu = counter(CounterSource::EventCounter, "System.Runtime", "cpu-usage", Some("%"), "");
    state.take(0, update(&cpu, "", Reading::Gauge(12.0)), now);
    assert_eq!(screen(&mut state, 80, 24, now), before);
    press(&mut state, "r");
    assert_ne!(screen(&mut state, 80, 24, now), before);
}

#[test]
fn no_screen_is_too_small() {
    let now = Instant::now();
    check("small.txt", &screen(&mut filled(now), 40, 10, now));
    for (columns, lines) in [(1, 1), (2, 3), (5, 2), (14, 4), (20, 5), (39, 9), (300, 100)] {
        let mut state = filled(now);
        state.take(0, Told::Note(Note::HistogramLimit { limit: 10 }), now);
        press(&mut state, "d/x");
        screen(&mut state, columns, lines, now + Duration::from_secs(100));
        let mut empty = State::new([], Duration::from_secs(1), now);
        screen(&mut empty, columns, lines, now);
    }
}

#[test]
fn without_a_terminal_there_are_plain_lines() {
    let now = Instant::now();
    let mut state = filled(now);
    state.deltas = true;
    state.take(0, Told::Note(Note::CallbackFailed { message: "Bad\u{1b}[2J\n  at X()".to_owned() }), now);
    check("plain.txt", &block(&state, "11/15/2026 07:39:38", now));
}

#[test]
fn before_the_first_value_it_says_so() {
    let now = Instant::now();
    let mut state = State::new([(1, "Shop".to_owned(), None)], Duration::from_secs(1), now);
    check("waiting.txt", &screen(&mut state, 60, 6, now));
}
