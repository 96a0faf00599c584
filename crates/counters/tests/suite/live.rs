//! Counters of real programs on real runtimes.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use counters::{Board, CounterSource, Limits, Note, Plan, Reading, Selection, Series, Told, watch};
use discovery::{Options, find};
use event_session::{Going, SessionEnd};
use model::ProcessId;
use testbed::{Runtime, Target, TargetBuilder, shared};

/// How long things may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

struct Subject {
    target: Target,
    client: diagnostics_ipc::Client,
    major: u32,
}

impl Subject {
    fn start(builder: TargetBuilder<'_>, runtime: Runtime) -> Subject {
        let target = builder.start().expect("the target starts");
        let process = find(ProcessId(target.pid()), &Options { timeout: Duration::from_secs(30) });
        let client = process.expect("it is there").client().expect("it has a socket");
        let major =
            runtime.label().split('.').next().and_then(|major| major.parse().ok()).expect("a version");
        Subject { target, client: client.with_timeout(Duration::from_secs(30)), major }
    }

    fn plan(&self, selection: &str, limits: Limits, unique: &str) -> Plan {
        Plan::new(Selection::parse(selection).expect("a selection"), limits, Some(self.major), unique)
    }

    /// Watches until `enough` says so.
    fn watch(&self, plan: &Plan, enough: impl Fn(&Board) -> bool) -> Board {
        let board = Mutex::new(Board::default());
        let begin = Instant::now();
        let driven = watch(
            &self.client,
            plan,
            |told: Told| _ = board.lock().expect("no panic").take(told),
            |waiting| {
                if enough(&board.lock().expect("no panic")) || begin.elapsed() > PATIENCE {
                    return Going::Stop;
                }
                std::thread::sleep(waiting.slice);
                Going::On
            },
        )
        .expect("a session");
        assert_ne!(driven.end, SessionEnd::TargetExited);
        assert!(driven.value.undecodable == 0 && driven.value.damage.is_none(), "{:?}", driven.value);
        assert!(self.target.is_alive(), "{}", self.target.stderr_text());
        let board = board.into_inner().expect("no panic");
        assert!(enough(&board), "in {PATIENCE:?} came only {:?} {:?}", values(&board), board.notes());
        board
    }
}

/// The newest value of each series, by name and tags.
fn values(board: &Board) -> BTreeMap<String, f64> {
    let one = |series: &Series| {
        let name = format!("{}[{}]", series.counter.name, series.all_tags());
        (name, series.reading.headline().unwrap_or(f64::NAN))
    };
    board.series().map(|(_, series)| one(series)).collect()
}

fn series<'a>(board: &'a Board, name: &str) -> Option<&'a Series> {
    board.series().map(|(_, series)| series).find(|series| series.counter.name == name)
}

/// How much a counter counted since the session began.
fn counted(board: &Board, name: &str) -> f64 {
    series(board, name).map_or(0.0, |series| series.accumulated)
}

#[test]
fn event_counters_of_the_runtime_are_plausible() {
    for runtime in [Runtime::Net31, Runtime::Net8] {
        let subject = Subject::start(shared().target("allocation-pressure", runtime), runtime);
        let plan = subject.plan("System.Runtime", Limits::default(), "test");
        let board = subject.watch(&plan, |board| {
            counted(board, "alloc-rate") > 1e6 && counted(board, "gen-0-gc-count") > 0.0
        });
        let seen = values(&board);
        println!("{runtime}: {seen:?}");
        assert!((5.0..4000.0).contains(&seen["working-set[]"]), "{runtime}: {seen:?}");
        let rate = series(&board, "alloc-rate").unwrap();
        assert!(matches!(rate.reading, Reading::Increment { per, .. } if per == Duration::from_secs(1)));
        assert_eq!(rate.counter.source, CounterSource::EventCounter);
        assert_eq!(rate.counter.display_name.as_deref(), Some("Allocation Rate"));
        assert_eq!(rate.counter.unit.as_deref(), Some("B"));
    }
}

#[test]
fn exceptions_are_counted_on_every_runtime_that_patients_run_on() {
    for (runtime, name) in [
        (Runtime::Net31, "exception-count"),
        (Runtime::Net8, "exception-count"),
        (Runtime::Net9, "dotnet.exceptions"),
    ] {
        let subject = Subject::start(shared().target("exception-storm", runtime), runtime);
        let plan = subject.plan(&format!("System.Runtime[{name}]"), Limits::default(), "test");
        let board = subject.watch(&plan, |board| counted(board, name) > 200.0);
        assert!(board.series().all(|(key, _)| key.name == name), "only what was asked for: {board:?}");
    }
}

#[test]
fn the_meter_of_the_runtime_is_preferred_where_there_is_one() {
    for runtime in [Runtime::Net9, Runtime::Net10] {
        let builder = match runtime {
            Runtime::Net10 => shared().stranger(),
            _ => shared().target("allocation-pressure", runtime),
        };
        let subject = Subject::start(builder, runtime);
        let plan = subject.plan("System.Runtime", Limits::default(), "test");
        let board = subject.watch(&plan, |board| {
            series(board, "dotnet.process.cpu.time").is_some()
                && series(board, "dotnet.gc.collections").is_some()
        });
        let seen = values(&board);
        println!("{runtime}: {seen:?}");
        assert!(seen["dotnet.process.memory.working_set[]"] > 1e6, "{runtime}: {seen:?}");
        assert!(board.series().all(|(key, _)| key.source == CounterSource::Meter), "{runtime}: {seen:?}");
        let collections = board.series().filter(|(key, _)| key.name == "dotnet.gc.collections");
        let tags: Vec<&str> = collections.map(|(key, _)| key.tags.as_str()).collect();
        assert_eq!(tags, ["gc.heap.generation=gen0", "gc.heap.generation=gen1", "gc.heap.generation=gen2"]);
    }
}

#[test]
fn event_counters_can_be_had_where_there_is_a_meter() {
    let subject = Subject::start(shared().target("healthy-idle-service", Runtime::Net9), Runtime::Net9);
    for selection in ["EventCounters\\System.Runtime", "System.Runtime[working-set]"] {
        let plan = subject.plan(selection, Limits::default(), "test");
        let board = subject.watch(&plan, |board| series(board, "working-set").is_some());
        assert!(board.series().all(|(key, _)| key.source == CounterSource::EventCounter), "{selection}");
    }
}

#[test]
fn instruments_of_every_kind_with_their_tags() {
    let subject = Subject::start(shared().target("healthy-metrics", Runtime::Net9), Runtime::Net9);
    let plan = subject.plan("Box.Office,Box-Office-Counters", Limits::default(), "test");
    let board = subject.watch(&plan, |board| {
        let has = |name| series(board, name).is_some();
        ["doors.opened", "ticket.price", "queue.length", "hall.temperature", "seconds-per-sale"]
            .into_iter()
            .all(has)
            && counted(board, "sales") > 0.0
    });
    let seen = values(&board);
    println!("{seen:?}");
    assert_eq!(seen["hall.temperature[city=Gent,hall=ice]"], -3.0);
    assert_eq!(seen["door.load[city=Gent]"], 0.25);
    assert_eq!(seen["balance[city=Gent]"], -12.5);
    assert!((0.0..=9.0).contains(&seen["seconds-per-sale[hall:red]"]), "{seen:?}");
    let price = series(&board, "ticket.price").unwrap();
    let Reading::Histogram { quantiles, count, sum } = &price.reading else { panic!("{price:?}") };
    assert_eq!(quantiles.iter().map(|one| one.quantile).collect::<Vec<_>>(), [0.5, 0.95, 0.99]);
    assert!(count.is_some_and(|count| count > 0) && sum.is_some_and(|sum| sum > 0.0), "{price:?}");
    assert_eq!(price.counter.description.as_deref(), Some("Price of a ticket"));
    let sold = series(&board, "tickets.sold").unwrap();
    assert!(matches!(sold.reading, Reading::Counter { total: Some(total), .. } if total > 0.0), "{sold:?}");
    let all = sold.all_tags();
    let tags = counters::tags(&all);
    assert_eq!(tags, [("city", "Gent"), ("counter", "0"), ("paid", "cash, or \"card\"=later\u{1b}[31m")]);
}

#[test]
fn limits_and_failures_of_the_target_are_told() {
    let builder = shared().target("healthy-metrics", Runtime::Net9).arg("series=40").arg("broken=1");
    let subject = Subject::start(builder, Runtime::Net9);
    let limits = Limits { max_series: 20, max_histograms: 2, ..Limits::default() };
    let plan = subject.plan("Box.Office", limits, "test");
    let has = |board: &Board, wanted: fn(&Note) -> bool| board.notes().iter().any(wanted);
    let board = subject.watch(&plan, |board| {
        has(board, |note| matches!(note, Note::SeriesLimit { limit: 20 }))
            && has(board, |note| matches!(note, Note::HistogramLimit { limit: 2 }))
            && has(board, |note| matches!(note, Note::CallbackFailed { .. }))
    });
    let words: Vec<String> = board.notes().iter().map(Note::to_string).collect();
    assert!(words.iter().any(|words| words.contains("the sensor is gone")), "{words:?}");
    assert!(board.series().len() <= 20, "{:?}", values(&board));
}

#[test]
fn two_sessions_share_the_meters_and_a_third_with_other_settings_is_told() {
    let subject = Subject::start(shared().target("healthy-metrics", Runtime::Net9), Runtime::Net9);
    let load = |board: &Board| series(board, "door.load").is_some();
    let (running, others_are_done) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            let plan = subject.plan("Box.Office", Limits::default(), "first");
            subject.watch(&plan, |board| {
                running.fetch_or(load(board), Ordering::AcqRel);
                others_are_done.load(Ordering::Acquire)
            })
        });
        while !running.load(Ordering::Acquire) && !first.is_finished() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let second = subject.plan("Box.Office[door.load]", Limits::default(), "second");
        let seen = subject.watch(&second, load);
        assert!(seen.series().all(|(key, _)| key.name == "door.load"), "others' counters are left out");
        let limits = Limits { interval: Duration::from_secs(2), ..Limits::default() };
        let third = subject.plan("Box.Office", limits, "third");
        let board = subject.watch(&third, |board| board.notes().iter().any(Note::ends_meters));
        let words: Vec<String> = board.notes().iter().map(Note::to_string).collect();
        assert!(words.iter().any(|words| words.contains("refresh-interval 1, asked for 2")), "{words:?}");
        others_are_done.store(true, Ordering::Release);
        assert!(load(&first.join().expect("the first session ends well")));
    });
}
