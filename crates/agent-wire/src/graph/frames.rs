//! The frames of threads.

use crate::bytes::{Damage, Reader};

/// Most frames of one thread that are told.
pub const MOST_THREAD_FRAMES: usize = crate::DEEPEST_STACK;

/// A frame of a thread's stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToldFrame {
    /// The method; 0 for native code.
    pub method: u64,
    /// Where in its code.
    pub address: u64,
    /// Where its part of the stack begins; 0 if that is not known.
    pub stack_pointer: u64,
}

/// A thread and its frames, innermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadFrames {
    /// The runtime's id.
    pub id: u64,
    /// The operating system's number, in the target's pid namespace.
    pub os: u32,
    /// Its frames.
    pub frames: Vec<ToldFrame>,
}

/// Words of a frame, and of what stands before the frames of a thread.
pub const FRAME_WORDS: usize = 3;
/// See [`FRAME_WORDS`].
pub const THREAD_WORDS: usize = 2;

/// Reads threads. A frame never crosses the end of a slot.
#[derive(Clone, Debug, Default)]
pub struct FrameReader {
    /// What came so far.
    pub threads: Vec<ThreadFrames>,
    frames: usize,
    due: usize,
}

impl FrameReader {
    /// Reads the words of a slot; more than `most` threads or frames are damage.
    pub fn read(&mut self, bytes: &[u8], most: usize) -> Result<(), Damage> {
        let mut reader = Reader::new(bytes);
        while reader.has_more() {
            if self.due > 0 {
                self.due -= 1;
                self.frames += 1;
                let frame = ToldFrame {
                    method: reader.u64("frame")?,
                    address: reader.u64("frame")?,
                    stack_pointer: reader.u64("frame")?,
                };
                if let Some(thread) = self.threads.last_mut() {
                    thread.frames.push(frame);
                }
                continue;
            }
            let id = reader.u64("thread")?;
            let (os, count) = (reader.u32("thread")?, reader.u32("thread")?);
            self.due = usize::try_from(count).unwrap_or(usize::MAX);
            if self.due > MOST_THREAD_FRAMES || self.threads.len() >= most || self.frames >= most {
                return Err(reader.damage("number of frames"));
            }
            self.threads.push(ThreadFrames { id, os, frames: Vec::new() });
        }
        Ok(())
    }

    /// Whether all frames came that were announced.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.due == 0
    }
}
