//! The memory that the host shares with us, as we fill it.

use std::time::{Duration, Instant};

use agent_wire::{Content, FREE, FULL, LOOKED, SLOT_ROOM, STOP, SlotHead, Stage, state_of};
use clr_profiling::HResult;

use crate::answers::Refusal;
use crate::sys::shared::Shared;
use crate::visit::Visit;

/// How long the host may take to make room.
const STALLED: Duration = Duration::from_millis(500);
/// Pause between two looks whether it has.
const AGAIN: Duration = Duration::from_micros(20);
/// After so many looks we see whether anybody wants it at all.
const LOOKS: u32 = 64;
/// Words of a slot.
pub(super) const SLOT_WORDS: usize = SLOT_ROOM / 8;

/// Why we stop telling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The host does not read.
    Stalled,
    /// It took too long.
    TooLong,
    /// The host says so, or is gone, or our time is over.
    Unwanted,
    /// Something that cannot be told.
    Untold,
}

impl From<Stop> for Refusal {
    fn from(stop: Stop) -> Refusal {
        let stage = match stop {
            Stop::Stalled => Stage::Stalled,
            Stop::TooLong => Stage::TooLong,
            Stop::Unwanted => Stage::Stopped,
            Stop::Untold => Stage::Heap,
        };
        Refusal { stage, code: HResult::E_FAIL }
    }
}

/// Fills slot after slot.
pub(super) struct Ring {
    shared: Shared,
    /// The slot that is being filled, if it is ours already.
    slot: usize,
    is_ours: bool,
    /// Words in it.
    used: usize,
    content: Content,
    /// Slots that were given to the host.
    pub(super) given: u64,
    until: Instant,
}

impl Ring {
    pub(super) fn new(shared: Shared) -> Ring {
        let (content, until) = (Content::Frames, Instant::now());
        Ring { shared, slot: 0, is_ours: false, used: 0, content, given: 0, until }
    }

    /// From now on it may take so long.
    pub(super) fn start(&mut self, longest: Duration) {
        let now = Instant::now();
        self.until = now.checked_add(longest).unwrap_or(now);
    }

    /// Room for at least so many words of this content, which are at most [`SLOT_WORDS`].
    #[inline]
    pub(super) fn room(&mut self, visit: &Visit, content: Content, words: usize) -> Result<&mut [u64], Stop> {
        if !self.is_ours || self.used + words > SLOT_WORDS || self.content != content {
            self.next(visit, content)?;
        }
        Ok(self.shared.words(self.slot).get_mut(self.used..).unwrap_or_default())
    }

    /// So many words of the room are filled.
    #[inline]
    pub(super) fn fill(&mut self, words: usize) {
        self.used += words;
    }

    /// One more word.
    pub(super) fn push(&mut self, visit: &Visit, content: Content, word: u64) -> Result<(), Stop> {
        if let Some(place) = self.room(visit, content, 1)?.first_mut() {
            *place = word;
        }
        self.fill(1);
        Ok(())
    }

    /// Gives what is there to the host, and waits for a free slot.
    #[cold]
    fn next(&mut self, visit: &Visit, content: Content) -> Result<(), Stop> {
        self.give();
        self.wait(visit)?;
        (self.is_ours, self.content) = (true, content);
        Ok(())
    }

    /// Gives what is there to the host.
    pub(super) fn give(&mut self) {
        if !self.is_ours || (self.used == 0 && self.content != Content::FramesEnd) {
            return;
        }
        let length = u32::try_from(self.used * 8).unwrap_or(0);
        let head = SlotHead { number: self.given, length, content: self.content };
        self.shared.set_head(self.slot, &head.encode());
        self.shared.set(state_of(self.slot), FULL);
        self.slot = self.slot.wrapping_add(1);
        self.given += 1;
        (self.is_ours, self.used) = (false, 0);
    }

    /// Gives an empty slot, which says that the frames are all told.
    pub(super) fn end_frames(&mut self, visit: &Visit) -> Result<(), Stop> {
        self.next(visit, Content::FramesEnd)?;
        self.give();
        Ok(())
    }

    /// Waits until the host has read the slot that is to be filled. Looks also whether to go on at all.
    fn wait(&mut self, visit: &Visit) -> Result<(), Stop> {
        let state = state_of(self.slot);
        let began = Instant::now();
        if began >= self.until {
            return Err(Stop::TooLong);
        }
        if self.is_stopped(visit) {
            return Err(Stop::Unwanted);
        }
        let mut looks = 0_u32;
        while self.shared.get(state) != FREE {
            looks = looks.wrapping_add(1);
            if self.is_stopped(visit) || (looks.is_multiple_of(LOOKS) && visit.is_unwanted()) {
                return Err(Stop::Unwanted);
            }
            if began.elapsed() > STALLED {
                return Err(Stop::Stalled);
            }
            std::thread::sleep(AGAIN);
        }
        Ok(())
    }

    fn is_stopped(&self, visit: &Visit) -> bool {
        self.shared.get(STOP) != 0 || visit.has_ended()
    }

    /// Waits until the host has read from outside what it wanted to; whether it has.
    pub(super) fn wait_for_look(&self, visit: &Visit, longest: Duration) -> bool {
        let began = Instant::now();
        let mut looks = 0_u32;
        while self.shared.get(LOOKED) == 0 {
            looks = looks.wrapping_add(1);
            if self.is_stopped(visit)
                || began.elapsed() > longest
                || Instant::now() >= self.until
                || (looks.is_multiple_of(LOOKS) && visit.is_unwanted())
            {
                return false;
            }
            std::thread::sleep(AGAIN);
        }
        true
    }
}
