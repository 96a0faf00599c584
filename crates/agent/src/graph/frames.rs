//! The frames of all threads, with their places on the stacks, for whoever reads the stacks from outside.

use std::time::Duration;

use agent_wire::{Content, FRAME_WORDS, MOST_THREAD_FRAMES, THREAD_WORDS};
use clr_profiling::{OsThreadId, Suspended, ThreadId, Walk};

use super::ring::{Ring, Stop};
use crate::visit::Visit;

/// Most threads and frames that are looked at.
const MOST_THREADS: usize = 8192;
const MOST_FRAMES: usize = 64 * 1024;
/// How long stacks are walked, at most.
const LONGEST: Duration = Duration::from_millis(40);

/// Under 3 MB.
pub(super) struct Frames {
    ids: Vec<ThreadId>,
    /// A thread, and its part of the frames.
    threads: Vec<(ThreadId, OsThreadId, std::ops::Range<usize>)>,
    /// Method, address and place.
    frames: Vec<[u64; FRAME_WORDS]>,
    /// How many threads were not looked at to their end.
    pub(super) left_out: u32,
}

impl Frames {
    pub(super) fn new() -> Frames {
        Frames {
            ids: vec![ThreadId(0); MOST_THREADS],
            threads: Vec::with_capacity(MOST_THREADS),
            frames: Vec::with_capacity(MOST_FRAMES),
            left_out: 0,
        }
    }

    pub(super) fn look(&mut self, suspended: &Suspended<'_>) {
        let count = suspended.threads(&mut self.ids).unwrap_or(0);
        for &id in self.ids.get(..count).unwrap_or_default() {
            let start = self.frames.len();
            if suspended.elapsed() > LONGEST || start >= MOST_FRAMES {
                self.left_out = self.left_out.saturating_add(1);
                continue;
            }
            let os = suspended.os_thread(id).unwrap_or(OsThreadId(0));
            let _ = suspended.walk_placed(id, |placed| {
                if self.frames.len() >= MOST_FRAMES || self.frames.len() - start >= MOST_THREAD_FRAMES {
                    self.left_out = self.left_out.saturating_add(1);
                    return Walk::Enough;
                }
                let frame = placed.frame;
                let place = [frame.function.0, frame.address.0, placed.stack_pointer];
                self.frames.push(place.map(|word| word as u64));
                Walk::On
            });
            self.threads.push((id, os, start..self.frames.len()));
        }
    }

    pub(super) fn write(&self, visit: &Visit, ring: &mut Ring) -> Result<(), Stop> {
        for (id, os, range) in &self.threads {
            let frames = self.frames.get(range.clone()).unwrap_or_default();
            let room = ring.room(visit, Content::Frames, THREAD_WORDS)?;
            if let [thread, count, ..] = room {
                *thread = id.0 as u64;
                *count = u64::from(os.0) | (frames.len() as u64) << 32;
            }
            ring.fill(THREAD_WORDS);
            for frame in frames {
                if let Some(place) = ring.room(visit, Content::Frames, FRAME_WORDS)?.first_chunk_mut() {
                    *place = *frame;
                }
                ring.fill(FRAME_WORDS);
            }
        }
        ring.end_frames(visit)
    }
}
