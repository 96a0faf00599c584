//! Sessions on all four runtimes, read while the events come.

use crate::session;

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::session::{EVERY, LONG, Subject, keyword, runtime_events, samples};
use crate::summary::Summary;
use diagnostics_ipc::{Rundown, TraceRequest};
use nettrace::{Item, Losses, ProcessId, Reader};
use testbed::Runtime;

const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";
const SAMPLER: &str = "Microsoft-DotNETCore-SampleProfiler";
/// `ExceptionThrown_V1`.
const EXCEPTION: u32 = 80;

/// Runs a session until `enough` says so, and reads it to its end.
fn run(subject: &Subject, request: &TraceRequest, enough: fn(&Summary) -> bool) -> (Summary, Losses) {
    let (stream, _) = subject.client.collect_tracing(request).expect("a session");
    let session = stream.session;
    stream.set_read_timeout(Some(LONG)).expect("a timeout can be set");
    let process = ProcessId(u64::from(subject.target.pid()));
    let has_enough = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&has_enough);
    let reading = std::thread::spawn(move || {
        let mut reader = Reader::new(stream);
        let mut summary = Summary::default();
        while let Some(item) = reader.next().expect("the stream is sound") {
            if let Item::Trace(trace) = &item {
                assert_eq!(trace.process, Some(process));
                let started = trace.started.expect("the date is one").elapsed().expect("it has passed");
                assert!(started < LONG, "started {started:?} ago");
            }
            summary.add(&item);
            if !told.load(Ordering::Relaxed) {
                told.store(enough(&summary), Ordering::Release);
            }
        }
        (summary, reader.losses().clone())
    });
    let until = Instant::now() + LONG;
    while !has_enough.load(Ordering::Acquire) && !reading.is_finished() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(has_enough.load(Ordering::Acquire), "the events have not come");
    subject.client.stop_tracing(session).expect("the session stops");
    reading.join().expect("the stream ends properly")
}

#[test]
fn events_arrive_while_the_session_runs() {
    for runtime in EVERY {
        let subject = Subject::start("exception-storm", runtime);
        let providers =
            vec![runtime_events(keyword::EXCEPTIONS | keyword::GC | keyword::CONTENTION), samples()];
        let enough: fn(&Summary) -> bool = match runtime {
            // The stranger throws nothing while it waits.
            Runtime::Net10 => |summary| summary.count(SAMPLER, 0) > 100,
            _ => |summary| summary.count(RUNTIME, EXCEPTION) > 100 && summary.count(SAMPLER, 0) > 10,
        };
        let (summary, losses) = run(&subject, &session::without_rundown(providers), enough);
        assert!(losses.is_empty(), "{runtime}: {losses:?}");
        assert!(summary.stacks > 0 && summary.sequence_points > 0, "{runtime}");
        assert!(subject.target.is_alive(), "{runtime}: {}", subject.target.stderr_text());
    }
}

#[test]
fn names_of_methods_come_at_the_end() {
    for runtime in EVERY {
        let subject = Subject::start("healthy-idle-service", runtime);
        let request = TraceRequest { rundown: Rundown::Default, ..TraceRequest::new(256, vec![samples()]) };
        let (summary, losses) = run(&subject, &request, |summary| summary.count(SAMPLER, 0) > 0);
        // `MethodDCEndVerbose_V1`.
        let methods = summary.count("Microsoft-Windows-DotNETRuntimeRundown", 144);
        assert!(methods > 100, "{runtime}: {methods} methods");
        assert!(losses.is_empty(), "{runtime}: {losses:?}");
    }
}

/// Reads so slowly that the target has to drop events, until it is told to hurry.
struct Slow<R> {
    stream: R,
    hurry: Arc<AtomicBool>,
}

impl<R: Read> Read for Slow<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.hurry.load(Ordering::Acquire) {
            return self.stream.read(buffer);
        }
        std::thread::sleep(Duration::from_millis(50));
        let most = buffer.len().min(8 << 10);
        self.stream.read(&mut buffer[..most])
    }
}

#[test]
fn events_that_a_full_buffer_dropped_are_counted() {
    for runtime in Runtime::ALL {
        let subject = Subject::start("exception-storm", runtime);
        let providers = vec![runtime_events(keyword::EXCEPTIONS)];
        let request = TraceRequest { buffer_mb: 1, ..session::without_rundown(providers) };
        let (stream, _) = subject.client.collect_tracing(&request).expect("a session");
        let session = stream.session;
        let hurry = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&hurry);
        let reading = std::thread::spawn(move || {
            let mut reader = Reader::new(Slow { stream, hurry: Arc::clone(&told) });
            let mut events = 0_u64;
            while let Some(item) = reader.next().expect("the stream is sound") {
                events += u64::from(matches!(item, Item::Event(_)));
                told.store(reader.losses().events > 0, Ordering::Release);
            }
            (events, reader.losses().clone())
        });
        let until = Instant::now() + LONG;
        while !hurry.load(Ordering::Acquire) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        let dropped = hurry.swap(true, Ordering::AcqRel);
        subject.client.stop_tracing(session).expect("the session stops");
        let (events, losses) = reading.join().expect("the stream ends properly");
        assert!(dropped && events > 0, "{runtime}: {events} events, {losses:?}");
        assert_eq!(losses.by_thread().map(|(_, lost)| lost).sum::<u64>(), losses.events, "{runtime}");
        assert_eq!((losses.stacks_missing, losses.events_without_metadata), (0, 0), "{runtime}");
        println!("{runtime}: {events} events, {} lost", losses.events);
    }
}
