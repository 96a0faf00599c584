//! Streams built in the test, item by item.

use crate::stream;

use std::io::{self, Read};
use std::time::Duration;

use crate::stream::{
    BlockStream, Bytes, EVENT, ObjectStream, Row, event_block, metadata_row_v5, metadata_v5, stacks,
};
use nettrace::{
    CodeAddress, Error, EventId, FieldType, FormatVersion, Guid, Item, Keywords, Label, Layout, Level,
    MetadataId, Opcode, Order, ProcessId, Reader, SequenceNumber, StackId, ThreadId, Timestamp,
};

/// Each item in a line.
fn lines(input: impl Read) -> (Vec<String>, Option<Error>) {
    let mut reader = Reader::new(input);
    let mut lines = Vec::new();
    loop {
        match reader.next() {
            Ok(Some(item)) => lines.push(line(&item)),
            Ok(None) => return (lines, None),
            Err(error) if error.is_timeout() => {}
            Err(error) => {
                assert!(reader.next().expect("an error comes once").is_none());
                return (lines, Some(error));
            }
        }
    }
}

fn line(item: &Item<'_>) -> String {
    match item {
        Item::Event(event) => {
            let header = event.header;
            let frames: Vec<_> =
                event.stack.iter().flat_map(|stack| stack.frames()).map(|frame| frame.0).collect();
            format!(
                "{} {} #{} at {} on {} by {}: {frames:x?} {:?}",
                event.metadata.provider,
                event.metadata.event,
                header.sequence,
                header.timestamp,
                event.thread(),
                event.capture_thread(),
                event.payload
            )
        }
        Item::Stacks(stacks) => {
            format!("stacks {:?}", stacks.iter().map(|stack| stack.id.0).collect::<Vec<_>>())
        }
        Item::SequencePoint(point) => format!("point at {}, {} lost", point.timestamp, point.lost),
        Item::Metadata(metadata) => format!("metadata {}", metadata.id),
        Item::Trace(_) => "trace".into(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_stream_of_version_5() {
    let (lines, error) = lines(stream::sample_v5().as_slice());
    assert!(error.is_none(), "{error:?}");
    assert_eq!(
        lines,
        [
            "trace",
            "metadata 1",
            "metadata 2",
            "stacks [1, 2]",
            "Test-Provider 7 #1 at 5000 on 100 by 100: [1000, 2000] [2, 0, 0, 0]",
            "Test-Provider 8 #2 at 10000 on 100 by 100: [3000] [1, 0, 7, 0, 0, 0]",
            "Test-Provider 8 #3 at 10009 on 100 by 100: [3000] [1, 0, 8, 0, 0, 0]",
            "point at 20000, 2 lost",
            "stacks [1]",
            "Test-Provider 7 #6 at 30000 on 100 by 100: [4000] [2, 0, 0, 0]",
            "Test-Provider 7 #7 at 35000 on 300 by 200: [] [2, 0, 0, 0]",
        ]
    );
}

#[test]
fn a_stream_of_version_6() {
    let bytes = stream::sample_v6();
    let (lines, error) = lines(bytes.as_slice());
    assert!(error.is_none(), "{error:?}");
    assert_eq!(
        lines,
        [
            "trace",
            "metadata 1",
            "stacks [1]",
            "Universal.Events 0 #1 at 5000 on 900 by 78: [1000, 2000] [2, 0, 0, 0]",
            "Universal.Events 0 #2 at 10000 on 78 by 78: [] [2, 0, 0, 0]",
            "point at 20000, 2 lost",
            "Universal.Events 0 #1 at 30000 on 0 by 0: [] [97, 98, 99]",
        ]
    );
    let mut reader = Reader::new(bytes.as_slice());
    let mut seen = 0;
    while let Some(item) = reader.next().unwrap() {
        match item {
            Item::Trace(trace) => {
                assert_eq!((trace.version, trace.process), (FormatVersion::V6, Some(ProcessId(77))));
                assert_eq!(trace.since_start(Timestamp(3000)), Duration::from_millis(2));
                assert_eq!(trace.properties.last().unwrap(), &("Machine".to_owned(), "here".to_owned()));
            }
            Item::Metadata(metadata) => {
                assert_eq!((metadata.opcode, metadata.keywords), (Opcode(2), Keywords(0x40)));
                assert_eq!((metadata.level, metadata.description.as_deref()), (Level(5), Some("what it is")));
                assert_eq!(metadata.provider_id.unwrap(), Guid::from_bytes([0x11; 16]));
                let kinds: Vec<_> = metadata.fields().iter().map(|field| &field.kind).collect();
                assert_eq!(kinds[2], &FieldType::FixedArray { element: Box::new(FieldType::I16), count: 2 });
            }
            Item::Event(event) if seen == 0 => {
                seen += 1;
                assert_eq!(event.activity(), Some(Guid::from_bytes([0x22; 16])));
                let text = Label::Text { key: "route".into(), value: "/home".into() };
                assert_eq!(event.labels.iter().nth(1), Some(text));
                assert_eq!(event.level(), Level(5));
            }
            Item::Event(event) if seen == 1 => {
                seen += 1;
                assert_eq!((event.level(), event.activity()), (Level(1), None));
                assert_eq!(event.thread_info().unwrap().name.as_deref(), Some("main"));
                assert_eq!((event.process(), event.thread()), (Some(ProcessId(77)), ThreadId(78)));
            }
            _ => {}
        }
    }
    assert_eq!((reader.losses().events, reader.losses().blocks_unknown), (2, 1));
    assert_eq!(reader.offset(), bytes.len() as u64);
}

#[test]
fn full_headers_say_their_order_the_other_way_round() {
    let mut stream = ObjectStream::new();
    stream.block("MetadataBlock", &metadata_row_v5(event_block(true), &metadata_v5(1, "P", 3, "")).0);
    stream.block("StackBlock", &stacks(9, &[&[7]]).0);
    let event = |id: u32, payload: &[u8]| {
        let fields = Bytes::default().u32(id).u32(1).u64(5).u64(5).u32(u32::MAX).u32(9).u64(77);
        let fields = fields.raw(&[3; 16]).raw(&[0; 16]).len32(payload.len()).raw(payload);
        // Padded to four bytes, which the size includes.
        let size = fields.0.len().next_multiple_of(4);
        Bytes::default().len32(size).raw(&fields.0).raw(&vec![0; size - fields.0.len()])
    };
    let block = event_block(false).raw(&event(1, b"odd").0).raw(&event(1 << 31 | 1, b"").0);
    stream.block("EventBlock", &block.0);
    let bytes = stream.end();
    let mut reader = Reader::new(bytes.as_slice());
    let mut events = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        if let Item::Event(event) = item {
            assert_eq!((event.header.metadata, event.header.timestamp), (MetadataId(1), Timestamp(77)));
            assert_eq!(event.header.processor, None);
            assert_eq!(event.activity(), Some(Guid::from_bytes([3; 16])));
            assert_eq!(event.stack.unwrap().frames().next(), Some(CodeAddress(7)));
            events.push((event.payload.to_vec(), event.header.order));
        }
    }
    assert_eq!(events, [(b"odd".to_vec(), Order::Sorted), (Vec::new(), Order::Unsorted)]);
}

#[test]
fn what_an_event_lacks_is_counted() {
    let mut stream = ObjectStream::new();
    stream.block("MetadataBlock", &metadata_row_v5(event_block(true), &metadata_v5(70_000, "P", 3, "")).0);
    let events = Row { metadata: 5, ..EVENT }.v5(event_block(true));
    stream.block("EventBlock", &Row { metadata: 70_000, stack: 8, ..EVENT }.v5(events).0);
    let bytes = stream.end();
    let mut reader = Reader::new(bytes.as_slice());
    let mut events = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        if let Item::Event(event) = item {
            assert!(event.stack.is_none());
            events.push((event.metadata.event, event.header.stack, event.header.sequence));
        }
    }
    assert_eq!(events, [(EventId(3), StackId(8), SequenceNumber(2))]);
    let losses = reader.losses();
    assert_eq!((losses.events, losses.events_without_metadata, losses.stacks_missing), (0, 1, 1));
}

#[test]
fn fields_nobody_understands_do_not_hide_the_events() {
    let unknown = metadata_v5(1, "P", 3, "E").u32(1).u32(99).utf16("f");
    let short = metadata_v5(2, "P", 4, "E").u32(7);
    let nested = (0..40).fold(metadata_v5(3, "P", 5, "E"), |bytes, _| bytes.u32(1).u32(1));
    for row in [unknown, short, nested] {
        let mut stream = ObjectStream::new();
        stream.block("MetadataBlock", &metadata_row_v5(event_block(true), &row).0);
        let bytes = stream.end();
        let mut reader = Reader::new(bytes.as_slice());
        reader.next().unwrap();
        let Some(Item::Metadata(metadata)) = reader.next().unwrap() else { panic!("no metadata") };
        assert_eq!((metadata.name.as_str(), &metadata.layout), ("E", &Layout::Unreadable));
    }
}

#[test]
fn errors_name_the_byte_and_the_field() {
    let check = |bytes: &[u8], expected: &str| {
        let (_, error) = lines(bytes);
        assert_eq!(error.expect("an error").to_string(), expected);
    };
    check(
        b"PK\x03\x04....",
        "not a nettrace stream: it begins with [50, 4b, 03, 04, 2e, 2e, 2e, 2e] instead of \"Nettrace\"",
    );
    check(
        b"Nettrace\0\0\0\0\x07\0\0\0\0\0\0\0",
        "byte 0: the format of version 7 cannot be read, only 4 to 6",
    );
    check(b"Nettr", "the stream is cut off at byte 5, inside the head of the stream");
    let mut old = ObjectStream(b"Nettrace\x14\0\0\0!FastSerialization.1".to_vec());
    old.begin("Trace", 3, 3);
    check(&old.0, "byte 32: the format of version 3 cannot be read, only 4 to 6");
    let mut events_first = BlockStream(b"Nettrace\0\0\0\0\x06\0\0\0\0\0\0\0".to_vec());
    events_first.block(2, event_block(true));
    check(&events_first.0, "byte 24: a block of events is damaged: the trace is not yet described");

    let mut large = ObjectStream::new();
    large.begin("StackBlock", 2, 2);
    large.0.extend(u32::MAX.to_le_bytes());
    large.0.extend([0; 3]);
    let (_, error) = lines(large.0.as_slice());
    assert!(matches!(error, Some(Error::TooLarge { size: 0xFFFF_FFFF, limit: 0x100_0000, .. })), "{error:?}");

    let mut overlong = BlockStream::new();
    let start = overlong.0.len() as u64 + 4 + 20;
    overlong.block(2, event_block(true).u8(0x80).var(5).var(1000));
    let (_, error) = lines(overlong.0.as_slice());
    let Some(Error::Damaged { offset, what, .. }) = error else { panic!("{error:?}") };
    assert_eq!((offset, what), (start + 4, "event payload"));
}

/// Gives what it has in small pieces, with pauses.
struct Hesitant<'a> {
    bytes: &'a [u8],
    step: usize,
    calls: usize,
    failure: Option<io::ErrorKind>,
}

impl Read for Hesitant<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.calls += 1;
        match (self.calls % 3, self.failure) {
            (0, _) => Err(io::ErrorKind::WouldBlock.into()),
            (1, _) => Err(io::ErrorKind::Interrupted.into()),
            (_, Some(failure)) if self.bytes.is_empty() => Err(failure.into()),
            _ => {
                let count = self.step.min(buffer.len()).min(self.bytes.len());
                let (now, later) = self.bytes.split_at(count);
                buffer[..count].copy_from_slice(now);
                self.bytes = later;
                Ok(count)
            }
        }
    }
}

#[test]
fn an_input_that_hesitates_gives_the_same_items() {
    for bytes in [stream::sample_v5(), stream::sample_v6()] {
        let (expected, _) = lines(bytes.as_slice());
        for step in [1, 3, 64] {
            let (items, error) = lines(Hesitant { bytes: &bytes, step, calls: 0, failure: None });
            assert!(error.is_none(), "{error:?}");
            assert_eq!(items, expected, "in steps of {step}");
        }
    }
}

#[test]
fn an_input_that_fails_gives_what_came_before() {
    let bytes = stream::sample_v5();
    let half = &bytes[..bytes.len() - 40];
    let (expected, _) = lines(half);
    let failure = Some(io::ErrorKind::ConnectionReset);
    let (items, error) = lines(Hesitant { bytes: half, step: 7, calls: 0, failure });
    assert_eq!(items, expected);
    let Some(Error::Io { offset, source }) = error else { panic!("{error:?}") };
    assert_eq!((offset, source.kind()), (half.len() as u64, io::ErrorKind::ConnectionReset));
}
