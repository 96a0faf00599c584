//! What the reader forgets: at sequence points, on request, and for want of room.

use crate::stream::{BlockStream, Bytes, EVENT, Row, event_block, stacks};
use nettrace::{Item, Losses, Reader, ThreadId, limits};

/// Reads everything: the names of the events, and what was lost.
fn read(bytes: &[u8]) -> (Vec<String>, Losses) {
    let mut reader = Reader::new(bytes);
    let mut names = Vec::new();
    while let Some(item) = reader.next().expect("the stream is sound") {
        if let Item::Event(event) = item {
            names.push(event.metadata.name.clone());
        }
    }
    (names, reader.losses().clone())
}

fn metadata(stream: &mut BlockStream, id: u64, name: &str) {
    let row = Bytes::default().var(id).utf8("P").var(1).utf8(name).u16(0).u16(0);
    stream.block(3, Bytes::default().u16(0).sized16(row));
}

fn thread(stream: &mut BlockStream, index: u64, id: u64) {
    stream.block(6, Bytes::default().sized16(Bytes::default().var(index).u8(3).var(id)));
}

fn event(stream: &mut BlockStream, thread: u64, before: u32, stack: u32) {
    let row = Row { skipped: before, capture: thread, thread, stack, ..EVENT };
    stream.block(2, row.v6(event_block(true), 0));
}

fn sequence_point(stream: &mut BlockStream, flags: u32, threads: &[(u64, u64)]) {
    let head = Bytes::default().u64(1).u32(flags).len32(threads.len());
    stream.block(4, threads.iter().fold(head, |bytes, (thread, last)| bytes.var(*thread).var(*last)));
}

#[test]
fn a_kind_of_event_is_known_until_it_is_replaced_or_flushed() {
    let mut stream = BlockStream::new();
    metadata(&mut stream, 1, "old");
    event(&mut stream, 0, 0, 0);
    metadata(&mut stream, 1, "new");
    event(&mut stream, 0, 1, 0);
    sequence_point(&mut stream, 0, &[]);
    event(&mut stream, 0, 2, 0);
    sequence_point(&mut stream, 2, &[]);
    event(&mut stream, 0, 3, 0);
    let (names, losses) = read(&stream.end());
    assert_eq!(names, ["old", "new", "new"]);
    assert_eq!((losses.events, losses.events_without_metadata), (0, 1));
}

#[test]
fn a_thread_is_known_until_it_is_removed_or_flushed() {
    let mut stream = BlockStream::new();
    metadata(&mut stream, 1, "event");
    thread(&mut stream, 5, 500);
    event(&mut stream, 5, 0, 0);
    // Without a flush the numbers go on.
    sequence_point(&mut stream, 0, &[(5, 1)]);
    event(&mut stream, 5, 3, 0);
    // With a flush they begin anew, after the last check.
    sequence_point(&mut stream, 1, &[(5, 6)]);
    thread(&mut stream, 5, 501);
    event(&mut stream, 5, 0, 0);
    // The last word on a thread that goes.
    stream.block(7, Bytes::default().var(5).var(8));
    let (names, losses) = read(&stream.end());
    assert_eq!(names.len(), 3);
    assert_eq!(losses.by_thread().collect::<Vec<_>>(), [(ThreadId(500), 2 + 2), (ThreadId(501), 7)]);
}

#[test]
fn stacks_without_a_sequence_point_do_not_pile_up() {
    let frames = vec![7; 1000];
    let block = vec![frames.as_slice(); 1000];
    let size = frames.len() * 8 * block.len();
    let mut stream = BlockStream::new();
    metadata(&mut stream, 1, "event");
    let blocks = u32::try_from(limits::MAX_STACK_BYTES / size + 1).expect("a small number");
    for number in 0..blocks {
        stream.block(5, stacks(number * 1000 + 1, &block));
    }
    let (first, last) = (1, blocks * 1000);
    event(&mut stream, 0, 0, first);
    event(&mut stream, 0, 1, last);
    sequence_point(&mut stream, 0, &[]);
    stream.block(5, stacks(last, &block[..1]));
    event(&mut stream, 0, 2, last);
    event(&mut stream, 0, 3, first);
    let (names, losses) = read(&stream.end());
    assert_eq!(names.len(), 4);
    let kept = limits::MAX_STACK_BYTES / (frames.len() * 8);
    let forgotten = u64::from(last) - kept as u64;
    assert!(losses.stacks_forgotten.abs_diff(forgotten) < 10, "{forgotten} and {losses:?}");
    assert_eq!(losses.stacks_missing, 2);
}

#[test]
fn kinds_of_events_do_not_pile_up() {
    let mut stream = BlockStream::new();
    let long = "x".repeat(60_000);
    for id in 0..100 {
        metadata(&mut stream, id, &long);
    }
    // Ids that stand in no order, and many of them.
    for id in 0..50_000 {
        metadata(&mut stream, (id + 100) * 65_521, "event");
    }
    let (_, losses) = read(&stream.end());
    let room = limits::MAX_METADATA_BYTES / long.len();
    assert!(losses.metadata_forgotten > (100 - room) as u64, "{losses:?}");
}
