//! Records the fixtures again, from real runtimes: `cargo run -p nettrace --example record [NAME...]`.
//!
//! The golden summaries beside them have to be accepted afterwards, with `cargo xtask bless`.

#[path = "../tests/support/session.rs"]
#[expect(dead_code, reason = "tests use more of it")]
mod session;
#[path = "../tests/support/stream.rs"]
mod stream;

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use diagnostics_ipc::{Provider, TraceRequest};
use session::{Subject, keyword, runtime_events, samples, without_rundown};
use testbed::Runtime;

/// A recording is stopped when it has this size ...
const ENOUGH: usize = 40 << 10;
/// ... or has gone on for so long.
const LONGEST: Duration = Duration::from_secs(4);

struct Recipe {
    name: &'static str,
    patient: &'static str,
    runtime: Runtime,
    providers: Vec<Provider>,
}

fn recipes() -> Vec<Recipe> {
    let storm = || vec![runtime_events(keyword::EXCEPTIONS | keyword::CONTENTION), samples()];
    let pressure = || vec![runtime_events(keyword::GC | keyword::JIT)];
    let counters = || vec![session::counters()];
    let recipe = |name, patient, runtime, providers| Recipe { name, patient, runtime, providers };
    vec![
        recipe("net31-exceptions-samples", "exception-storm", Runtime::Net31, storm()),
        recipe("net8-exceptions-samples", "exception-storm", Runtime::Net8, storm()),
        recipe("net9-exceptions-samples", "exception-storm", Runtime::Net9, storm()),
        recipe(
            "net10-stranger-samples",
            "",
            Runtime::Net10,
            vec![runtime_events(keyword::EXCEPTIONS | keyword::GC | keyword::CONTENTION), samples()],
        ),
        recipe("net31-allocations", "allocation-pressure", Runtime::Net31, pressure()),
        recipe("net9-allocations", "allocation-pressure", Runtime::Net9, pressure()),
        recipe("net8-counters", "healthy-idle-service", Runtime::Net8, counters()),
        recipe("net10-counters", "", Runtime::Net10, counters()),
    ]
}

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let keep = |name: &str, make: &dyn Fn() -> Vec<u8>| {
        if wanted.is_empty() || wanted.iter().any(|text| name.contains(text.as_str())) {
            let bytes = make();
            println!("{name}: {} bytes", bytes.len());
            std::fs::write(folder.join(name).with_extension("nettrace"), bytes)
                .expect("the fixture is written");
        }
    };
    keep("synthetic-v5", &stream::sample_v5);
    keep("synthetic-v6", &stream::sample_v6);
    for recipe in recipes() {
        keep(recipe.name, &|| record(&recipe));
    }
}

fn record(recipe: &Recipe) -> Vec<u8> {
    let subject = Subject::start(recipe.patient, recipe.runtime);
    let request: TraceRequest = without_rundown(recipe.providers.clone());
    let (mut stream, granted) = subject.client.collect_tracing(&request).expect("a session");
    assert!(granted.given_up.is_empty(), "{granted:?}");
    let session = stream.session;
    let arrived = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&arrived);
    let reading = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut chunk = [0; 4096];
        while let count @ 1.. = stream.read(&mut chunk).expect("the stream goes on or ends") {
            bytes.extend_from_slice(&chunk[..count]);
            counted.store(bytes.len(), Ordering::Release);
        }
        bytes
    });
    let until = Instant::now() + LONGEST;
    while arrived.load(Ordering::Acquire) < ENOUGH && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    subject.client.stop_tracing(session).expect("the session stops");
    reading.join().expect("the stream ends after the session")
}
