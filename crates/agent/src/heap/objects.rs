//! The first bytes of chosen objects, and of what they refer to, all at one instant.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::{Duration, Instant};

use agent_wire::{FromAgent, Object, Pause, Pick, Plan, Stage};
use clr_profiling::{ClassId, Suspended, Walk, size_of_object};

use super::{Clock, Known, MARKS};
use crate::answers::{self, Refusal};
use crate::line::Silence;
use crate::memory::word;
use crate::sys::{AT_ONCE, read_memory, read_words};
use crate::visit::Visit;

/// Most objects that are kept.
pub(super) const MOST_OBJECTS: usize = 64 * 1024;
/// Most bytes of them all.
pub(super) const MOST_BYTES: usize = 8 << 20;
/// How long references are followed, at most.
const LONGEST: Duration = Duration::from_millis(300);
/// Places of the table of objects that are kept; a power of two, and twice as many as objects.
const PLACES: usize = 2 * MOST_OBJECTS;
/// Bytes of objects in one message.
const BATCH: usize = 40 * 1024;
/// Where the elements of an array begin, counted from its address.
const ELEMENTS: usize = 16;

struct Kept {
    address: u64,
    class: u64,
    bytes: Range<usize>,
}

pub(super) struct Objects {
    kept: Vec<Kept>,
    bytes: Vec<u8>,
    /// Addresses of what is kept, by their hash.
    places: Vec<u64>,
    left_out: u32,
    pause: Pause,
}

/// The plan in a form that is quick to look into.
struct Wanted<'a> {
    picks: HashMap<u64, Pick>,
    /// The types of which all objects are wanted, with their bytes, by their hash: looked at for every object of the heap.
    all: Vec<(u64, u16, (u16, u32))>,
    follow: HashMap<u64, Vec<u16>>,
    elements: HashSet<u64>,
    known: &'a HashMap<ClassId, Known>,
}

impl Wanted<'_> {
    fn place(&self, class: u64, step: usize) -> usize {
        let hash = usize::try_from((class >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32).unwrap_or(0);
        (hash + step) & (self.all.len() - 1)
    }

    fn want_all(&mut self, pick: &Pick) {
        let class = pick.class;
        for step in 0..self.all.len() {
            let place = self.place(class, step);
            if let Some(place) = self.all.get_mut(place).filter(|place| place.0 == 0 || place.0 == class) {
                *place = (class, pick.bytes, pick.without);
                return;
            }
        }
    }

    /// The first two words of a type, which tell how large its objects are. One that we do not know is only read, by way of
    /// the kernel: if it is none, what is told is of no use and does no harm.
    fn head(&self, class: u64) -> Option<(u32, u32)> {
        if let Some(known) = usize::try_from(class).ok().and_then(|class| self.known.get(&ClassId(class))) {
            return Some((known.flags, known.base));
        }
        let [a, b, c, d, e, f, g, h] = word(class)?.to_le_bytes();
        Some((u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])))
    }

    /// How many bytes of each object of a type are wanted.
    fn bytes(&self, class: u64) -> Option<(u16, (u16, u32))> {
        // There are more places than types, so that one is empty.
        (0..self.all.len()).find_map(|step| match self.all.get(self.place(class, step)) {
            Some((found, bytes, without)) if *found == class => Some(Some((*bytes, *without))),
            Some((0, ..)) | None => Some(None),
            Some(_) => None,
        })?
    }
}

/// Addresses whose first words are read with one question to the kernel.
struct Next {
    addresses: [u64; AT_ONCE],
    heads: [u64; AT_ONCE],
    count: usize,
}

impl Default for Next {
    fn default() -> Self {
        Next { addresses: [0; AT_ONCE], heads: [0; AT_ONCE], count: 0 }
    }
}

impl Next {
    /// Whether there was room.
    fn add(&mut self, address: u64) -> bool {
        let Some(place) = self.addresses.get_mut(self.count) else { return false };
        *place = address;
        self.count += 1;
        true
    }

    /// What stands at the addresses, 0 where nothing can be read; there is room again.
    fn read(&mut self) -> impl Iterator<Item = u64> + use<> {
        let count = std::mem::take(&mut self.count);
        read_words(self.addresses.get(..count).unwrap_or_default(), &mut self.heads);
        self.heads.into_iter().take(count)
    }
}

fn hash(address: u64) -> usize {
    usize::try_from((address >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 47).unwrap_or(0)
}

impl Objects {
    pub(super) fn look(
        visit: &Visit,
        plan: &Plan,
        known: &HashMap<ClassId, Known>,
    ) -> Result<Objects, Refusal> {
        let mut wanted = Wanted {
            picks: plan.picks.iter().map(|pick| (pick.class, *pick)).collect(),
            all: vec![(0, 0, (0, 0)); (2 * plan.picks.len() + 1).next_power_of_two()],
            follow: HashMap::new(),
            elements: plan.elements.iter().copied().collect(),
            known,
        };
        for pick in plan.picks.iter().filter(|pick| pick.all && pick.class != 0) {
            wanted.want_all(pick);
        }
        for follow in &plan.follow {
            wanted.follow.entry(follow.class).or_default().push(follow.offset);
        }
        let mut objects = Objects {
            kept: Vec::with_capacity(MOST_OBJECTS),
            bytes: Vec::with_capacity(MOST_BYTES),
            places: vec![0; PLACES],
            left_out: 0,
            pause: Pause::default(),
        };
        let turn = answers::take_turn(|| visit.is_unwanted())?;
        let began = Instant::now();
        let suspended = answers::suspend(visit, || visit.is_unwanted())?;
        objects.pause.suspending = began.elapsed();
        if plan.samples.is_empty() {
            objects.walk(&suspended, &wanted)?;
        } else {
            let mut next = Next::default();
            for samples in plan.samples.chunks(AT_ONCE) {
                samples.iter().for_each(|sample| _ = next.add(sample.address));
                let heads = next.read();
                for (sample, head) in samples.iter().zip(heads) {
                    if head & !MARKS == sample.class {
                        objects.reach(&wanted, sample.address, sample.class);
                    } else {
                        objects.left_out = objects.left_out.saturating_add(1);
                    }
                }
            }
        }
        objects.chase(&suspended, &wanted);
        objects.pause.suspended = suspended.elapsed();
        drop(suspended);
        drop(turn);
        Ok(objects)
    }

    fn walk(&mut self, suspended: &Suspended<'_>, wanted: &Wanted<'_>) -> Result<(), Refusal> {
        let mut clock = Clock::default();
        let walked = suspended.heap(|object| {
            if clock.is_over(suspended) {
                self.left_out = self.left_out.saturating_add(1);
                return Walk::Enough;
            }
            let class = object.class().0 as u64;
            let Some((bytes, (offset, bits))) = wanted.bytes(class) else { return Walk::On };
            let start = self.bytes.len();
            let room = usize::from(bytes).min(MOST_BYTES.saturating_sub(start));
            self.bytes.resize(start + room, 0);
            let copied = self.bytes.get_mut(start..).unwrap_or_default();
            let length = object.copy(copied);
            let word = copied.get(usize::from(offset)..).and_then(|rest| rest.first_chunk::<4>());
            let unwanted = bits != 0 && word.is_none_or(|word| u32::from_le_bytes(*word) & bits != 0);
            self.bytes.truncate(start);
            if !unwanted && self.enter(object.id().0 as u64) {
                self.bytes.resize(start + length, 0);
                let room = self.bytes.get_mut(start..).unwrap_or_default();
                object.copy(room);
                let address = object.id().0 as u64;
                self.kept.push(Kept { address, class, bytes: start..start + length });
            }
            Walk::On
        });
        walked.map_err(|code| Refusal { stage: Stage::Heap, code })
    }

    /// Follows references until there are no new ones.
    fn chase(&mut self, suspended: &Suspended<'_>, wanted: &Wanted<'_>) {
        let until = suspended.elapsed() + LONGEST;
        let mut next = Next::default();
        let mut at = 0;
        loop {
            while let Some(kept) = self.kept.get(at) {
                let (class, bytes) = (kept.class, kept.bytes.clone());
                at += 1;
                if at % 256 == 0 && suspended.elapsed() > until {
                    self.left_out = self.left_out.saturating_add(1);
                    return;
                }
                for &offset in wanted.follow.get(&class).map_or(&[][..], Vec::as_slice) {
                    self.follow(wanted, &mut next, &bytes, usize::from(offset));
                }
                if wanted.elements.contains(&class) {
                    for offset in (ELEMENTS..bytes.len()).step_by(8) {
                        self.follow(wanted, &mut next, &bytes, offset);
                    }
                }
            }
            if next.count == 0 {
                return;
            }
            self.reach_all(wanted, &mut next);
        }
    }

    fn follow(&mut self, wanted: &Wanted<'_>, next: &mut Next, bytes: &Range<usize>, offset: usize) {
        let object = self.bytes.get(bytes.clone()).and_then(|bytes| bytes.get(offset..));
        let Some(reference) = object.and_then(|rest| rest.first_chunk::<8>()) else { return };
        let address = u64::from_le_bytes(*reference);
        if address != 0 && address % 8 == 0 && !self.is_kept(address) && !next.add(address) {
            self.reach_all(wanted, next);
            next.add(address);
        }
    }

    fn reach_all(&mut self, wanted: &Wanted<'_>, next: &mut Next) {
        let addresses = next.addresses;
        for (address, head) in addresses.into_iter().zip(next.read()) {
            // 0 is what cannot be read.
            if head & !MARKS != 0 {
                self.reach(wanted, address, head & !MARKS);
            }
        }
    }

    /// Keeps an object. Of a type that we do not know only the type's address is told.
    fn reach(&mut self, wanted: &Wanted<'_>, address: u64, class: u64) {
        if !self.enter(address) {
            return;
        }
        let start = self.bytes.len();
        if let (Some(pick), Some((flags, base))) = (wanted.picks.get(&class), wanted.head(class)) {
            let count = || word(address.wrapping_add(8)).map_or(0, |word| (word & 0xFFFF_FFFF) as u32);
            let size = size_of_object(flags, base, count);
            let room = usize::from(pick.bytes).min(MOST_BYTES - start).min(size);
            self.bytes.resize(start + room, 0);
            let read = self.bytes.get_mut(start..).is_some_and(|room| read_memory(address, room));
            if !read {
                self.bytes.truncate(start);
            }
        }
        self.kept.push(Kept { address, class, bytes: start..self.bytes.len() });
    }

    /// Whether this object is kept already.
    fn is_kept(&self, address: u64) -> bool {
        let places = (0..PLACES).map(|step| self.places.get((hash(address) + step) % PLACES));
        let mut places = places.map(|place| place.copied().unwrap_or(0));
        places.find(|place| *place == address || *place == 0) == Some(address)
    }

    /// Whether there is room for this object and it is not kept already.
    fn enter(&mut self, address: u64) -> bool {
        if self.kept.len() >= MOST_OBJECTS || self.bytes.len() >= MOST_BYTES {
            self.left_out = self.left_out.saturating_add(1);
            return false;
        }
        for step in 0..PLACES {
            match self.places.get_mut((hash(address) + step) % PLACES) {
                Some(place) if *place == address => return false,
                Some(place) if *place == 0 => {
                    *place = address;
                    return true;
                }
                _ => {}
            }
        }
        false
    }

    pub(super) fn tell(
        &self,
        say: &mut impl FnMut(FromAgent) -> Result<(), Silence>,
    ) -> Result<(u32, Pause), Silence> {
        let mut batch = Vec::new();
        let mut size = 0;
        for kept in &self.kept {
            let bytes = self.bytes.get(kept.bytes.clone()).unwrap_or_default().to_vec();
            size += bytes.len() + 18;
            batch.push(Object { address: kept.address, class: kept.class, bytes });
            if size >= BATCH {
                size = 0;
                say(FromAgent::Objects(std::mem::take(&mut batch)))?;
            }
        }
        if !batch.is_empty() {
            say(FromAgent::Objects(batch))?;
        }
        Ok((self.left_out, self.pause))
    }
}
