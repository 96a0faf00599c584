//! From a stream of bytes to frames.

use crate::LONGEST_FRAME;
use crate::bytes::Damage;
use crate::messages::{Frame, Message};

/// Bytes of the length before each frame.
const HEAD: usize = 4;

/// Received bytes that are no whole frame yet. Never more than one frame and what was fed last.
#[derive(Debug, Default)]
pub struct Inbox {
    bytes: Vec<u8>,
    /// Bytes at the front that are done with.
    done: usize,
}

impl Inbox {
    /// Adds received bytes. Take all messages out before adding more.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.done);
        self.done = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next message, if it is there whole. After damage the stream is of no use.
    pub fn message<M: Message>(&mut self) -> Result<Option<M>, Damage> {
        let rest = self.bytes.get(self.done..).unwrap_or_default();
        let Some((head, rest)) = rest.split_first_chunk::<HEAD>() else { return Ok(None) };
        let length = usize::try_from(u32::from_le_bytes(*head)).unwrap_or(usize::MAX);
        if length == 0 || length > LONGEST_FRAME {
            return Err(Damage { problem: "length of a frame", offset: 0 });
        }
        let Some(frame) = rest.get(..length) else { return Ok(None) };
        let message = M::decode(Frame(frame));
        self.done += HEAD + length;
        message.map(Some)
    }
}
