//! Whatever a stream of events holds, the reader does not panic, and what comes later does not change what came before.
#![no_main]

use std::hash::{DefaultHasher, Hash, Hasher};

use libfuzzer_sys::fuzz_target;
use nettrace::{Item, Reader};

/// Reads everything, looks at every part of it, and returns a hash of each event.
fn read(bytes: &[u8]) -> Vec<u64> {
    let mut reader = Reader::new(bytes);
    let mut events = Vec::new();
    loop {
        match reader.next() {
            Ok(Some(Item::Event(event))) => {
                let mut hash = DefaultHasher::new();
                let header = event.header;
                (header.timestamp, header.sequence, event.thread(), event.capture_thread()).hash(&mut hash);
                (event.metadata.event, &event.metadata.provider, event.payload, event.process())
                    .hash(&mut hash);
                for frame in event.stack.iter().flat_map(|stack| stack.frames()) {
                    frame.hash(&mut hash);
                }
                (event.activity(), event.related_activity(), event.labels.iter().count()).hash(&mut hash);
                (event.level(), event.opcode(), event.keywords(), event.version()).hash(&mut hash);
                let mut payload = event.reader();
                let _ = (payload.utf16(), payload.array(|reader| reader.var_i64()), payload.absolute_array());
                let _ = (payload.guid(), payload.relative_array(), payload.pointer(), payload.rest());
                events.push(hash.finish());
            }
            Ok(Some(Item::Trace(trace))) => {
                let _ = trace.wall_clock(nettrace::Timestamp(u64::MAX));
            }
            Ok(Some(Item::Stacks(stacks))) => {
                stacks.iter().count();
            }
            Ok(Some(_)) => {}
            Ok(None) => return events,
            Err(error) => {
                let _ = (error.to_string(), reader.losses().by_thread().count());
                assert!(matches!(reader.next(), Ok(None)), "an error comes once");
                return events;
            }
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let all = read(bytes);
    let cut = read(&bytes[..bytes.len() / 2]);
    assert!(all.starts_with(&cut), "the rest of the stream changed what stands before it");
});
