//! Counters and meters of real programs.

use crate::session;

use std::collections::{BTreeMap, BTreeSet};

use crate::session::{EVERY, Subject, with_arguments};
use runtime_events::counters::CounterReading;
use runtime_events::metrics::number;
use runtime_events::{RuntimeEvent, keyword, provider};
use testbed::Runtime;

#[test]
fn counters_of_the_runtime() {
    for runtime in EVERY {
        let subject = Subject::start("healthy-idle-service", runtime);
        let counters = with_arguments("System.Runtime", 0, "EventCounterIntervalSec=1");
        // The first counter makes 3.1 load assemblies.
        let loads = with_arguments(provider::RUNTIME, keyword::LOADER, "");
        let seen: BTreeMap<String, f64> = subject.watch(
            &session::session(vec![counters, loads]),
            |seen, event, decoded| {
                if let RuntimeEvent::EventCounter(counter) = decoded {
                    assert_eq!(event.metadata.provider, "System.Runtime");
                    assert!(counter.interval_seconds >= 0.0 && counter.display_name.is_some(), "{counter:?}");
                    assert_eq!(counter.series_milliseconds(), Some(1000), "{counter:?}");
                    let value = match counter.reading {
                        CounterReading::Mean { mean, .. } => mean,
                        CounterReading::Increment(increment) => increment,
                        other => panic!("{other:?}"),
                    };
                    seen.insert(counter.name.to_string(), value);
                }
            },
            |seen| seen.len() >= 10 && seen.get("working-set").is_some_and(|megabytes| *megabytes > 1.0),
        );
        println!("{runtime}: {seen:?}");
        for name in ["cpu-usage", "gc-heap-size", "threadpool-thread-count", "alloc-rate", "exception-count"]
        {
            assert!(seen.contains_key(name), "{runtime}: {name} is not in {seen:?}");
        }
        assert!((5.0..2000.0).contains(&seen["working-set"]), "{runtime}: {seen:?}");
    }
}

#[test]
fn meters_of_the_runtime() {
    #[derive(Default)]
    struct Seen {
        instruments: BTreeSet<String>,
        values: BTreeMap<String, Option<f64>>,
        rounds: u64,
        problems: Vec<String>,
    }
    for runtime in [Runtime::Net9, Runtime::Net10] {
        let subject = Subject::start("allocation-pressure", runtime);
        let arguments =
            "SessionId=ours;Metrics=System.Runtime;RefreshInterval=1;MaxTimeSeries=1000;MaxHistograms=10";
        let meters = with_arguments(provider::METRICS, 0x2, arguments);
        // The runtime's own meter is made by its first user.
        let counters = with_arguments("System.Runtime", 0, "EventCounterIntervalSec=1");
        let seen: Seen = subject.watch(
            &session::session(vec![meters, counters]),
            |seen, _, decoded| match decoded {
                RuntimeEvent::InstrumentBegin(instrument) => {
                    assert!(instrument.session == "ours" && instrument.meter == "System.Runtime");
                    assert!(instrument.id.is_some_and(|id| id.0 != 0), "{instrument:?}");
                    seen.instruments.insert(format!("{} {}", instrument.name, instrument.kind));
                }
                RuntimeEvent::CounterValue(value) | RuntimeEvent::UpDownCounterValue(value) => {
                    let value_text = value.value.expect("9 tells the value");
                    seen.values.insert(format!("{}[{}]", value.name, value.tags), number(value_text));
                }
                RuntimeEvent::GaugeValue(value) => {
                    seen.values.insert(format!("{}[{}]", value.name, value.tags), number(value.value));
                }
                RuntimeEvent::CollectionStop(collection) => {
                    assert!(collection.to > collection.from, "{collection:?}");
                    seen.rounds += 1;
                }
                RuntimeEvent::MetricsError(error) => seen.problems.push(error.message.to_string()),
                _ => {}
            },
            |seen| seen.rounds > 1 && seen.values.len() > 10,
        );
        println!("{runtime}: {:?} {:?} {:?}", seen.instruments, seen.values, seen.problems);
        assert!(seen.instruments.iter().any(|name| name.starts_with("dotnet.gc.collections ")), "{runtime}");
        let working_set =
            seen.values.iter().find(|(name, _)| name.starts_with("dotnet.process.memory.working_set"));
        assert!(working_set.is_some_and(|(_, bytes)| bytes.is_some_and(|bytes| bytes > 1e6)), "{runtime}");
    }
}

#[test]
fn meters_of_a_program_with_every_kind_of_instrument() {
    #[derive(Default)]
    struct Seen {
        kinds: BTreeMap<String, String>,
        values: BTreeMap<String, f64>,
        quantiles: Vec<(f64, f64)>,
        counted: i32,
    }
    let subject = Subject::start("healthy-metrics", Runtime::Net9);
    let arguments = "SessionId=ours;Metrics=Box.Office;RefreshInterval=1;MaxTimeSeries=1000;MaxHistograms=10";
    let seen: Seen = subject.watch(
        &session::session(vec![with_arguments(provider::METRICS, 0x2, arguments)]),
        |seen, _, decoded| match decoded {
            RuntimeEvent::InstrumentBegin(instrument) => {
                assert!(instrument.meter_tags.is_some_and(|tags| tags == "city=Gent"), "{instrument:?}");
                assert!(instrument.meter_version == "2.1", "{instrument:?}");
                seen.kinds.insert(instrument.name.to_string(), instrument.kind.to_string());
            }
            RuntimeEvent::GaugeValue(value) => {
                let number = number(value.value).expect("a gauge has a value");
                seen.values.insert(format!("gauge {} {}", value.name, value.tags), number);
            }
            RuntimeEvent::UpDownCounterValue(value) => {
                let number = value.value.and_then(number).expect("9 tells the value");
                seen.values.insert(format!("up-down {} {}", value.name, value.tags), number);
            }
            RuntimeEvent::CounterValue(value) => {
                let number = value.value.and_then(number).expect("9 tells the value");
                seen.values.insert(format!("counter {} {}", value.name, value.tags), number);
            }
            RuntimeEvent::HistogramValue(value) => {
                assert!(value.name == "ticket.price" && value.unit == "EUR", "{value:?}");
                seen.quantiles = value.quantiles();
                seen.counted = value.count.expect("9 tells the count");
                let mean = value.sum.expect("9 tells the sum") / f64::from(seen.counted);
                assert!((10.0..=100.0).contains(&mean), "{value:?}");
            }
            _ => {}
        },
        |seen| !seen.quantiles.is_empty() && seen.values.len() >= 9,
    );
    println!("{:?} {:?} {:?}", seen.kinds, seen.values, seen.quantiles);
    assert_eq!(seen.values["gauge hall.temperature hall=red"], 19.5);
    assert_eq!(seen.values["gauge hall.temperature hall=ice"], -3.0);
    assert_eq!(seen.values["gauge door.load "], 0.25);
    assert_eq!(seen.values["up-down balance "], -12.5);
    assert!(seen.values.keys().any(|name| name.starts_with("counter tickets.sold counter=2,paid=cash, or ")));
    assert_eq!(seen.kinds["ticket.price"], "Histogram`1");
    assert_eq!(seen.kinds["queue.length"], "UpDownCounter`1");
    let quantiles: Vec<f64> = seen.quantiles.iter().map(|(quantile, _)| *quantile).collect();
    assert_eq!(quantiles, [0.5, 0.95, 0.99]);
    assert!(seen.quantiles.iter().all(|(_, value)| (10.0..=101.0).contains(value)), "{:?}", seen.quantiles);
    assert!(seen.counted > 0);
}
