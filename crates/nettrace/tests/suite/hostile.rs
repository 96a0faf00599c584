//! Whatever the bytes: no panic, and everything before the damage.

use crate::stream;

use std::path::Path;

use nettrace::{Error, Item, Reader};
use proptest::prelude::*;

/// What tells an event from others.
type Seen = (u32, u64, u64, Vec<u64>, Vec<u8>);

/// Reads everything and looks at every part of it.
fn read(bytes: &[u8]) -> (Vec<Seen>, Option<Error>) {
    let mut reader = Reader::new(bytes);
    let mut seen = Vec::new();
    loop {
        match reader.next() {
            Ok(Some(Item::Event(event))) => {
                let frames =
                    event.stack.iter().flat_map(|stack| stack.frames()).map(|frame| frame.0).collect();
                let _ = (event.activity(), event.level(), event.process(), event.labels.iter().count());
                let mut payload = event.reader();
                let _ = (payload.utf16(), payload.array(|reader| reader.pointer()), payload.relative_array());
                seen.push((
                    event.metadata.event.0,
                    event.header.timestamp.0,
                    event.thread().0,
                    frames,
                    event.payload.to_vec(),
                ));
            }
            Ok(Some(Item::Stacks(stacks))) => {
                stacks.iter().count();
            }
            Ok(Some(_)) => {}
            Ok(None) => return (seen, None),
            Err(error) => {
                let _ = (error.to_string(), reader.losses().by_thread().count());
                assert!(matches!(reader.next(), Ok(None)));
                return (seen, Some(error));
            }
        }
    }
}

fn check_cut(bytes: &[u8], cut: usize, all: &[Seen], before: &mut usize) {
    let (seen, error) = read(&bytes[..cut]);
    assert!(all.starts_with(&seen), "cut at {cut}");
    assert!(seen.len() >= *before, "cut at {cut}: less than with fewer bytes");
    *before = seen.len();
    match error {
        Some(Error::Truncated { offset, .. }) => assert_eq!(offset, cut as u64),
        other => panic!("cut at {cut}: {other:?}"),
    }
}

#[test]
fn a_stream_cut_at_every_byte_gives_the_events_before_the_cut() {
    for bytes in [stream::sample_v5(), stream::sample_v6()] {
        let (all, error) = read(&bytes);
        assert!(error.is_none(), "{error:?}");
        let mut before = 0;
        for cut in 0..bytes.len() {
            check_cut(&bytes, cut, &all, &mut before);
        }
        assert_eq!(before, all.len());
    }
}

#[test]
fn a_real_trace_cut_anywhere_gives_the_events_before_the_cut() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    for name in ["net31-allocations", "net8-counters", "net10-stranger-samples"] {
        let bytes =
            std::fs::read(folder.join(name).with_extension("nettrace")).expect("the fixture can be read");
        let (all, error) = read(&bytes);
        assert!(error.is_none() && !all.is_empty(), "{name}: {error:?}");
        let mut before = 0;
        // A step without a common factor with the sizes of things.
        for cut in (0..bytes.len()).step_by(211) {
            check_cut(&bytes, cut, &all, &mut before);
        }
    }
}

#[test]
fn a_count_that_promises_much_is_not_believed() {
    let mut stream = stream::BlockStream::new();
    stream.block(5, stream::Bytes::default().u32(1).u32(u32::MAX));
    assert!(matches!(read(&stream.0).1, Some(Error::Damaged { .. })));
    let mut stream = stream::BlockStream::new();
    stream.block(4, stream::Bytes::default().u64(0).u32(0).u32(u32::MAX));
    assert!(matches!(read(&stream.0).1, Some(Error::Damaged { .. })));
    // A block of 16 MB of which a few bytes come: memory grows with what comes.
    let mut stream = stream::BlockStream::new();
    stream.0.extend([0xFF, 0xFF, 0xFF, 2, 20, 0, 1, 0]);
    assert!(matches!(read(&stream.0).1, Some(Error::Truncated { .. })));
}

fn sample(version_6: bool) -> Vec<u8> {
    if version_6 { stream::sample_v6() } else { stream::sample_v5() }
}

proptest! {
    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        read(&bytes);
    }

    #[test]
    fn any_bytes_behind_a_proper_beginning(version_6: bool, bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
        let mut stream = if version_6 { stream::BlockStream::new().0 } else { stream::ObjectStream::new().0 };
        stream.extend(bytes);
        read(&stream);
    }

    #[test]
    fn any_block(kind in 1..10_u32, name in 0..5_usize, bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
        let mut stream = stream::BlockStream::new();
        stream.block(kind, stream::Bytes(bytes.clone()));
        read(&stream.end());
        let mut stream = stream::ObjectStream::new();
        stream.block(["EventBlock", "MetadataBlock", "StackBlock", "SPBlock", "Other"][name], &bytes);
        read(&stream.end());
    }

    #[test]
    fn flipped_bits(version_6: bool, flips in proptest::collection::vec((any::<prop::sample::Index>(), 0..8_u8), 1..6)) {
        let mut bytes = sample(version_6);
        for (place, bit) in flips {
            let place = place.index(bytes.len());
            bytes[place] ^= 1 << bit;
        }
        read(&bytes);
    }

    #[test]
    fn a_flipped_bit_does_not_touch_what_stands_before_it(version_6: bool, place: prop::sample::Index, bit in 0..8_u8) {
        let mut bytes = sample(version_6);
        let place = place.index(bytes.len());
        let (before, _) = read(&bytes[..place]);
        bytes[place] ^= 1 << bit;
        let (seen, _) = read(&bytes);
        prop_assert!(seen.starts_with(&before));
    }
}
