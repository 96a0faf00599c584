//! Copies of real streams, whole and from the middle on.

use std::path::{Path, PathBuf};

use nettrace::copying::{END_OF_STREAM, Renumbering, append_head, append_object, starting_at, time_span};
use nettrace::{BlockKind, Item, Reader, SequenceNumber, ThreadIndex, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;

fn fixtures() -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let paths =
        std::fs::read_dir(folder).expect("the folder can be read").flatten().map(|entry| entry.path());
    let traces = paths.filter(|path| path.extension().is_some_and(|name| name == "nettrace"));
    let read = traces.map(|path| (path.clone(), std::fs::read(path).expect("the fixture can be read")));
    // Before version 6 the length of a name follows.
    let objects: Vec<_> = read.filter(|(_, bytes)| bytes[8..12] != [0; 4]).collect();
    assert!(objects.len() >= 4, "{objects:?}");
    objects
}

#[test]
fn a_copy_of_every_block_is_the_same_stream() {
    for (path, bytes) in fixtures() {
        let mut copy = Vec::new();
        append_head(&mut copy);
        let mut reader = Reader::for_copying(bytes.as_slice());
        while let Some(item) = reader.next().unwrap() {
            if let Item::Block(block) = item {
                let offset = copy.len() as u64;
                append_object(&mut copy, offset, &block);
            }
        }
        copy.push(END_OF_STREAM);
        assert!(copy == bytes, "{}", path.display());
    }
}

/// The stream from the block of events with this place on, with everything that it needs of what was before.
fn from(bytes: &[u8], cut: usize) -> Option<(Vec<u8>, u64)> {
    let mut heads: Vec<Vec<u8>> = Vec::new();
    let mut stacks: Vec<Vec<u8>> = Vec::new();
    let mut rest: Vec<(BlockKind, Vec<u8>)> = Vec::new();
    let mut numbers: Vec<(ThreadIndex, SequenceNumber)> = Vec::new();
    let mut types = std::collections::HashMap::new();
    let mut reader = Reader::for_copying(bytes);
    let (mut blocks, mut events) = (0, 0);
    loop {
        match reader.next().expect("the fixture is sound") {
            None => break,
            Some(Item::Event(_)) if blocks >= cut => events += 1,
            Some(Item::Block(block)) => {
                types.insert(format!("{:?}", block.kind), nettrace::copying::BlockType::of(&block));
                let (kind, body) = (block.kind, block.body.to_vec());
                match kind {
                    BlockKind::Trace | BlockKind::Metadata => heads.push(body),
                    BlockKind::SequencePoint if blocks < cut => stacks.clear(),
                    BlockKind::Stacks if blocks < cut => stacks.push(body),
                    _ if blocks < cut => {}
                    _ => rest.push((kind, body)),
                }
                if kind == BlockKind::Events {
                    blocks += 1;
                    if blocks == cut {
                        numbers = reader.last_sequences().collect();
                    }
                }
            }
            Some(_) => {}
        }
    }
    let first =
        rest.iter().filter(|(kind, _)| *kind == BlockKind::Events).filter_map(|(_, body)| time_span(body));
    let start = first.map(|(earliest, _)| earliest).min()?;
    let mut numbers = Renumbering::after(numbers);
    let mut out = Vec::new();
    append_head(&mut out);
    let mut put = |kind: BlockKind, body: &[u8]| {
        let offset = out.len() as u64;
        append_object(&mut out, offset, &types[&format!("{kind:?}")].block(body));
    };
    for (index, body) in heads.iter().enumerate() {
        match index {
            0 => put(BlockKind::Trace, &starting_at(body, start)),
            _ => put(BlockKind::Metadata, body),
        }
    }
    stacks.iter().for_each(|body| put(BlockKind::Stacks, body));
    for (kind, body) in &rest {
        let mut changed = Vec::new();
        match kind {
            BlockKind::Events => numbers.events(body, &mut changed).expect("a sound block"),
            BlockKind::SequencePoint => numbers.sequence_point(body, &mut changed).expect("a sound block"),
            _ => changed.clone_from(body),
        }
        put(*kind, &changed);
    }
    out.push(END_OF_STREAM);
    Some((out, events))
}

#[test]
fn what_was_copied_of_a_stream_that_is_cut_anywhere_is_a_whole_stream() {
    let smallest = fixtures().into_iter().map(|(_, bytes)| bytes).min_by_key(Vec::len).unwrap();
    let mut events = 0;
    // Every byte where it matters, then every few: the inside of a block is always the same.
    let cuts = (0..1500).chain((1500..smallest.len()).step_by(131)).filter(|cut| *cut <= smallest.len());
    for cut in cuts {
        let mut reader = Reader::for_copying(&smallest[..cut]);
        let mut copy = Vec::new();
        while let Ok(Some(item)) = reader.next() {
            if let Item::Block(block) = item {
                if copy.is_empty() {
                    append_head(&mut copy);
                }
                let offset = copy.len() as u64;
                append_object(&mut copy, offset, &block);
            }
        }
        if copy.is_empty() {
            continue;
        }
        copy.push(END_OF_STREAM);
        let mut read = Reader::new(copy.as_slice());
        let mut found = 0;
        while let Some(item) = read.next().unwrap_or_else(|error| panic!("cut at {cut}: {error}")) {
            found += u64::from(matches!(item, Item::Event(_)));
        }
        assert!(found >= events, "cut at {cut}: {found} events, and {events} before it");
        events = found;
    }
    assert!(events > 0);
}

proptest! {
    #[test]
    fn no_bytes_make_the_copying_panic(bytes in vec(any::<u8>(), 0..400), thread in 0_u64..8, number: u32) {
        let mut numbers = Renumbering::after([(ThreadIndex(thread), SequenceNumber(number))]);
        let mut out = Vec::new();
        let mut compressed = vec![20, 0, 1, 0];
        compressed.extend_from_slice(&bytes);
        for body in [&bytes, &compressed] {
            let _ = numbers.events(body, &mut out);
            let _ = numbers.sequence_point(body, &mut out);
            let _ = time_span(body);
            let _ = starting_at(body, Timestamp(u64::from(number)));
        }
    }
}

#[test]
fn a_part_of_a_stream_is_a_stream_without_losses_of_its_own() {
    let mut parts = 0;
    for (path, bytes) in fixtures() {
        let mut whole = Reader::new(bytes.as_slice());
        while whole.next().unwrap().is_some() {}
        let lost = whole.losses().events;
        for cut in 1..200 {
            let Some((part, events)) = from(&bytes, cut) else { break };
            let mut reader = Reader::new(part.as_slice());
            let (mut found, mut earliest) = (0, Timestamp(u64::MAX));
            while let Some(item) = reader.next().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
            {
                if let Item::Event(event) = item {
                    found += 1;
                    earliest = earliest.min(event.header.timestamp);
                }
            }
            assert_eq!(found, events, "{} from block {cut} on", path.display());
            assert!(
                reader.losses().events <= lost,
                "{} from block {cut} on: {:?}",
                path.display(),
                reader.losses()
            );
            assert_eq!(reader.losses().stacks_missing, 0, "{} from block {cut} on", path.display());
            if path.to_string_lossy().contains("synthetic") {
                // Its blocks do not tell their times.
                continue;
            }
            let trace = reader.trace().unwrap();
            let before = trace.between(trace.start, earliest);
            assert!(trace.start <= earliest && before.as_millis() <= 1, "{}: {before:?}", path.display());
            parts += 1;
        }
    }
    assert!(parts >= 10, "only {parts} parts were looked at");
}
