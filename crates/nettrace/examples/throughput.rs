//! How fast events are read: `cargo run --release -p nettrace --example throughput [MEGABYTES]`.
//!
//! Two streams, both with compressed headers and a stack with every event: samples, which one thread writes about 16
//! others, with four bytes of payload; and turns, where every event is written by another thread than the one before,
//! with 32 bytes of payload, which is the worst the runtime does. A part of it lies in memory and comes again and again, so that the peak of
//! memory is that of the reader.

#[path = "../tests/support/stream.rs"]
#[expect(dead_code, reason = "tests use more of it")]
mod stream;

use std::hint::black_box;
use std::io::{self, Read};
use std::time::Instant;

use nettrace::{Item, Reader};
use stream::{Bytes, ObjectStream, event_block, metadata_row_v5, metadata_v5, stacks};

const THREADS: u64 = 16;
const STACKS: u32 = 400;
const FRAMES: u64 = 30;
/// Blocks of events between two sequence points, each as large as the runtime makes them.
const BLOCKS: usize = 40;
const BLOCK_SIZE: usize = 100_000;

fn main() {
    let megabytes: usize =
        std::env::args().nth(1).map_or(200, |text| text.parse().expect("a number of megabytes"));
    for (name, event) in [("samples", sample as fn(Bytes, u64) -> Bytes), ("turns", turn)] {
        measure(name, megabytes, event);
    }
}

fn measure(name: &str, megabytes: usize, event: fn(Bytes, u64) -> Bytes) {
    let (stream, repeated) = build(event);
    let times = (megabytes << 20) / (stream.len() - repeated);
    let before = peak_memory();
    for round in 1..=3 {
        let input = Repeating { bytes: &stream, from: repeated, at: 0, times };
        let start = Instant::now();
        let read = read(input);
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{name}, round {round}: {:.1} million events/s, {:.0} MB/s ({} events, {} frames, {:.1} bytes per event, {seconds:.2} s)",
            read.events as f64 / seconds / 1e6,
            read.bytes as f64 / seconds / 1e6,
            read.events,
            read.frames,
            read.bytes as f64 / read.events as f64,
        );
    }
    println!("{name}, peak memory: {before} kB with the stream, {} kB after reading", peak_memory());
}

#[derive(Default)]
struct Totals {
    events: u64,
    frames: u64,
    bytes: u64,
}

fn read(input: Repeating<'_>) -> Totals {
    let mut totals = Totals { bytes: input.length() as u64, ..Totals::default() };
    let mut reader = Reader::new(input);
    while let Some(item) = reader.next().expect("the stream is sound") {
        if let Item::Event(event) = item {
            totals.events += 1;
            totals.frames += event.stack.map_or(0, |stack| stack.len()) as u64;
            black_box((event.payload, event.header.timestamp, event.thread()));
        }
    }
    assert_eq!(reader.losses().stacks_missing, 0);
    totals
}

/// A stream, and where the part begins that can be repeated.
fn build(event: fn(Bytes, u64) -> Bytes) -> (Vec<u8>, usize) {
    let mut stream = ObjectStream::new();
    let row = metadata_v5(1, "Microsoft-DotNETCore-SampleProfiler", 0, "").u32(0);
    stream.block("MetadataBlock", &metadata_row_v5(event_block(true), &row).0);
    let repeated = stream.0.len();
    let rows: Vec<Vec<u64>> = (0..u64::from(STACKS))
        .map(|stack| (0..FRAMES).map(|frame| 0x7F00_0000_0000 + stack * 64 + frame).collect())
        .collect();
    let rows: Vec<&[u64]> = rows.iter().map(Vec::as_slice).collect();
    stream.block("StackBlock", &stacks(1, &rows).0);
    let mut number = 0_u64;
    for block in 0..BLOCKS {
        // The first header is complete, the others say what differs: thread, stack, time.
        let sequence = number + 1;
        let mut bytes = event_block(true).u8(0xCF).var(1).var(number).var(900).var(1).var(1000).var(1);
        bytes = bytes.var(1_000_000_000_000 + block as u64).var(4).u32(2);
        number = sequence;
        while bytes.0.len() < BLOCK_SIZE {
            bytes = event(bytes, number);
            number += 1;
        }
        stream.block("EventBlock", &bytes.0);
    }
    stream.block("SPBlock", &Bytes::default().u64(1).u32(0).0);
    // Blocks are aligned in the file, so what is repeated has to end at the remainder it began with.
    stream.block("Filler", &vec![0; (repeated + 3) % 4]);
    assert_eq!(stream.0.len() % 4, repeated % 4);
    (stream.0, repeated)
}

/// Thread, stack and time differ from the event before.
fn sample(bytes: Bytes, number: u64) -> Bytes {
    bytes.u8(0x0C).var(1000 + number % THREADS).var(stack(number)).var(600 + number % 3000).u32(2)
}

/// Everything differs but the kind; sequence numbers have gaps, as threads do not keep step.
fn turn(bytes: Bytes, number: u64) -> Bytes {
    let thread = 1000 + number % THREADS;
    let bytes = bytes.u8(0x8E).var(number % 5).var(thread).var(number % 8).var(thread);
    bytes.var(stack(number)).var(600 + number % 3000).var(32).raw(&[7; 32])
}

fn stack(number: u64) -> u64 {
    number * 7 % u64::from(STACKS) + 1
}

/// A stream whose second part comes many times, then its end.
struct Repeating<'a> {
    bytes: &'a [u8],
    from: usize,
    at: usize,
    times: usize,
}

impl Repeating<'_> {
    fn length(&self) -> usize {
        self.from + self.times * (self.bytes.len() - self.from) + 1
    }
}

impl Read for Repeating<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.bytes.len() && self.times > 1 {
            self.times -= 1;
            self.at = self.from;
        }
        let count = buffer.len().min(self.bytes.len() - self.at);
        if count == 0 && self.times == 1 {
            self.times = 0;
            buffer[0] = 1;
            return Ok(1);
        }
        buffer[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// The most memory this process ever had, in kilobytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
