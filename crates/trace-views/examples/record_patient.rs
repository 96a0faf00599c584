//! Records a patient with the usual profiles: `cargo run -p trace-views --example record_patient PATIENT RUNTIME SECONDS FILE`.
//!
//! The file is what `drdotnet trace collect` would write; benchmarks and people who try views begin with it.

#[path = "../tests/support/recording.rs"]
mod recording;

use std::time::Duration;

use recording::{Subject, runtime_events, samples};
use testbed::Runtime;

/// GC with allocation ticks, JIT, loader, contention, exceptions, threads.
const KEYWORDS: u64 = 0x1_C019;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [patient, runtime, seconds, file] = words.as_slice() else {
        panic!("record PATIENT RUNTIME SECONDS FILE");
    };
    let runtime = match runtime.as_str() {
        "3.1" => Runtime::Net31,
        "8" => Runtime::Net8,
        "10" => Runtime::Net10,
        _ => Runtime::Net9,
    };
    let length = Duration::from_secs(seconds.parse().expect("a number of seconds"));
    let trace = Subject::start(patient, runtime)
        .record(vec![samples(), runtime_events(KEYWORDS)], |waiting| waiting.elapsed >= length);
    std::fs::write(file, &trace).expect("the file can be written");
    println!("{file}: {} bytes", trace.len());
}
