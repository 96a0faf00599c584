//! Decodes a trace and says how long it took: `decode FILE` with headers, payloads and stacks; `read FILE` only reads its
//! bytes, for comparison. The benchmark `cargo xtask bench decode` runs both.

use std::fs::File;
use std::hint::black_box;
use std::io::Read;
use std::time::Instant;

use nettrace::{Item, Reader};
use stacks::{StackKey, StackTable};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [what, path] = words.as_slice() else { panic!("decode FILE, or read FILE") };
    let mut file = File::open(path).expect("the file can be opened");
    let bytes = file.metadata().expect("the file has a size").len();
    let (start, used) = (Instant::now(), processor_time());
    let events = match what.as_str() {
        "decode" => decode(file),
        _ => {
            let mut buffer = vec![0; 256 << 10];
            while file.read(&mut buffer).expect("the file can be read") > 0 {
                black_box(&buffer);
            }
            0
        }
    };
    let (nanos, used) = (start.elapsed().as_nanos(), processor_time() - used);
    println!("ns={nanos} cpu={used} events={events} bytes={bytes} peak={}", peak_memory());
}

/// Every event with its header, its payload and the id of its stack.
fn decode(file: File) -> u64 {
    let mut reader = Reader::new(file);
    let mut table = StackTable::new();
    let mut keys: Vec<Option<StackKey>> = Vec::new();
    let mut events = 0;
    while let Some(item) = reader.next().expect("the trace is sound") {
        match item {
            Item::Stacks(stacks) => {
                for stack in stacks.iter() {
                    let place = stack.id.0 as usize;
                    if keys.len() <= place {
                        keys.resize(place + 1, None);
                    }
                    keys[place] = table.intern(stack.frames());
                }
            }
            Item::Event(event) => {
                events += 1;
                let stack = keys.get(event.header.stack.0 as usize).copied().flatten();
                black_box((event.header.timestamp, event.thread(), event.payload, stack));
            }
            Item::SequencePoint(_) => keys.clear(),
            _ => {}
        }
    }
    assert_eq!(reader.losses().events, 0, "the benchmark's own trace lacks nothing");
    events
}

/// Processor time of this thread, in nanoseconds: what counts on a machine that others use as well.
fn processor_time() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// The most memory this process ever had, in bytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
}
