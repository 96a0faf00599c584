//! Whatever comes over the agent's socket, from either side, neither the agent nor the host panics, and what they
//! understand they would say in the same bytes.
//!
//! The first byte chooses who listens, the second into what pieces the bytes are cut.
#![no_main]

use agent_wire::{Attach, FromAgent, FromHost, Inbox, LONGEST_FRAME, Message};
use libfuzzer_sys::fuzz_target;

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
    match who % 4 {
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
        _ => {
            if let Ok(orders) = Attach::decode(rest) {
                assert_eq!(Attach::decode(&orders.encode()).as_ref(), Ok(&orders));
            }
        }
    }
});
