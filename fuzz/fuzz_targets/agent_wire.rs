//! Whatever comes over the agent's socket, from either side, neither the agent nor the host panics, and what they
//! understand they would say in the same bytes.
//!
//! The first byte chooses who listens, the second into what pieces the bytes are cut.
#![no_main]

use agent_wire::{
    Attach, EventReader, FrameReader, FromAgent, FromHost, HEAD_BYTES, Inbox, LONGEST_FRAME, Message,
    ObjectReader, ObjectSink, SlotHead, ToldObject,
};
use libfuzzer_sys::fuzz_target;

/// Counts what a heap is told to be.
#[derive(Default)]
struct Counted {
    objects: u64,
    references: u64,
}

impl ObjectSink for Counted {
    fn object(&mut self, _: ToldObject) -> bool {
        self.objects += 1;
        true
    }

    fn reference(&mut self, _: u64) -> bool {
        self.references += 1;
        true
    }
}

/// What comes through the shared memory, in slots of this size.
fn slots(bytes: &[u8], piece: usize) {
    if let Some(head) = bytes.first_chunk::<HEAD_BYTES>() {
        if let Ok(read) = SlotHead::decode(head, 0) {
            assert_eq!(SlotHead::decode(&read.encode(), 0), Ok(read));
        }
    }
    let (mut objects, mut counted) = (ObjectReader::default(), Counted::default());
    let (mut frames, mut events) = (FrameReader::default(), EventReader::default());
    for slot in bytes.chunks(piece * 8) {
        let _ = objects.read(slot, &mut counted);
        let _ = frames.read(slot, 1 << 16);
        let _ = events.read(slot, |event| assert!(event.payload.len() <= bytes.len()));
    }
    assert_eq!((objects.objects, objects.references), (counted.objects, counted.references));
}

/// All messages that come out of these bytes, fed in pieces.
fn heard<M: Message + PartialEq + std::fmt::Debug>(bytes: &[u8], piece: usize) -> usize {
    let mut inbox = Inbox::default();
    let mut messages = 0;
    for piece in bytes.chunks(piece) {
        inbox.feed(piece);
        loop {
            match inbox.message::<M>() {
                Ok(Some(message)) => {
                    said_again(&message);
                    messages += 1;
                }
                Ok(None) => break,
                Err(_) => return messages,
            }
        }
    }
    messages
}

fn said_again<M: Message + PartialEq + std::fmt::Debug>(message: &M) {
    let encoded = message.encode();
    assert!(encoded.len() <= LONGEST_FRAME + 4);
    let mut inbox = Inbox::default();
    inbox.feed(&encoded);
    assert_eq!(inbox.message::<M>().expect("sound").as_ref(), Some(message));
}

fuzz_target!(|input: &[u8]| {
    let [who, piece, rest @ ..] = input else { return };
    let piece = usize::from(*piece) + 1;
    match who % 5 {
        0 => {
            heard::<FromHost>(rest, piece);
        }
        1 => {
            heard::<FromAgent>(rest, piece);
        }
        // One frame with the right length, so that the fuzzer need not find it.
        2 => {
            let length = u32::try_from(rest.len()).unwrap_or(u32::MAX).to_le_bytes();
            heard::<FromAgent>(&[&length, rest].concat(), piece);
        }
        3 => slots(rest, piece),
        _ => {
            if let Ok(orders) = Attach::decode(rest) {
                assert_eq!(Attach::decode(&orders.encode()).as_ref(), Ok(&orders));
            }
        }
    }
});
