//! Rings: records of all CPUs, in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::OwnedFd;

use model::ThreadId;

use crate::parse::{HEADER, Header, Switch};
use crate::record::Timestamp;
use crate::sys::RingMemory;

/// The ring of one CPU, and the event that owns it.
#[derive(Debug)]
pub(crate) struct Ring {
    pub(crate) owner: OwnedFd,
    pub(crate) cpu: i32,
    pub(crate) memory: RingMemory,
}

/// What stands at a position.
enum At {
    Nothing,
    /// Bytes that are no record. It cannot happen unless the kernel and we disagree.
    Broken,
    Record(Header, Timestamp),
}

impl Ring {
    fn at(&self, position: u64) -> At {
        let left = self.memory.head().saturating_sub(position);
        if left == 0 {
            return At::Nothing;
        }
        let Some(header) = self.word(position).map(Header::parse) else { return At::Broken };
        if usize::from(header.size) < HEADER || u64::from(header.size) > left {
            return At::Broken;
        }
        let time = header.time_offset().and_then(|offset| self.word(position + offset as u64));
        // A record of a kind that has no time is taken as soon as it comes.
        At::Record(header, Timestamp(time.map_or(0, u64::from_ne_bytes)))
    }

    /// Eight bytes. Records begin at multiples of eight, so that these never run over the ring's end; copying is
    /// for a kernel that breaks its word.
    fn word(&self, position: u64) -> Option<[u8; 8]> {
        let (first, second) = self.memory.bytes(position, 8)?;
        let mut word = [0; 8];
        for (to, from) in word.iter_mut().zip(first.iter().chain(second)) {
            *to = *from;
        }
        Some(word)
    }

    /// The switch that a record at this position tells of, and whose.
    fn switch_at(&self, position: u64) -> Option<(Switch, ThreadId)> {
        let At::Record(header, _) = self.at(position) else { return None };
        let switch = header.switch()?;
        // Process and thread stand right before the time.
        let ids = self.word(position + header.time_offset()? as u64 - 8)?;
        let [_, _, _, _, a, b, c, d] = ids;
        Some((switch, ThreadId(u32::from_ne_bytes([a, b, c, d]))))
    }
}

/// The rings of all CPUs.
#[derive(Debug)]
pub(crate) struct Rings {
    pub(crate) rings: Vec<Ring>,
    heads: BinaryHeap<Reverse<(Timestamp, usize)>>,
    /// A record that runs over the end of its ring is put together here.
    scratch: Vec<u8>,
    pub(crate) broken: u64,
}

/// Takes a record, and the switch behind it where that belongs to it.
pub(crate) type Take<'a> = dyn FnMut(&[u8], Option<(Switch, ThreadId)>) + 'a;

/// How far to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// Records of this moment and before; younger ones stay, because another CPU may be about to write an older one.
    Time(Timestamp),
    /// All there is.
    End,
}

impl Rings {
    pub(crate) fn new(rings: Vec<Ring>) -> Rings {
        Rings { rings, heads: BinaryHeap::new(), scratch: Vec::new(), broken: 0 }
    }

    /// Hands over records by time. A sample of an event for which `leaves` is true comes together with the switch
    /// behind it in the ring, which says why the thread left; it waits for that.
    pub(crate) fn drain(&mut self, until: Until, leaves: &dyn Fn(u64) -> bool, take: &mut Take<'_>) {
        self.heads.clear();
        for index in 0..self.rings.len() {
            if let Some(ring) = self.rings.get(index) {
                ring.memory.look();
            }
            self.offer(index);
        }
        while let Some(Reverse((time, index))) = self.heads.pop() {
            if matches!(until, Until::Time(limit) if time > limit) {
                break;
            }
            let Some(ring) = self.rings.get_mut(index) else { break };
            let position = ring.memory.tail();
            let At::Record(header, _) = ring.at(position) else { continue };
            let next = position + u64::from(header.size);
            let mut switch = None;
            if header.is_sample()
                && ring.word(position + HEADER as u64).is_some_and(|id| leaves(u64::from_ne_bytes(id)))
            {
                if next >= ring.memory.head() && until != Until::End {
                    continue;
                }
                switch = ring.switch_at(next);
            }
            match ring.memory.bytes(position, usize::from(header.size)) {
                Some((whole, [])) => take(whole, switch),
                Some((first, second)) => {
                    self.scratch.clear();
                    self.scratch.extend_from_slice(first);
                    self.scratch.extend_from_slice(second);
                    take(&self.scratch, switch);
                }
                None => self.broken += 1,
            }
            ring.memory.release(next);
            self.offer(index);
        }
    }

    /// Puts the next record of a ring in line.
    fn offer(&mut self, index: usize) {
        let Some(ring) = self.rings.get_mut(index) else { return };
        match ring.at(ring.memory.tail()) {
            At::Nothing => {}
            At::Broken => {
                self.broken += 1;
                ring.memory.release(ring.memory.head());
            }
            At::Record(_, time) => self.heads.push(Reverse((time, index))),
        }
    }
}
