//! Objects and their references.
//!
//! They are words of 64 bits, little-endian. A head never crosses the end of a slot, references may:
//!
//! ```text
//!  bits  0..45  address of the type / 8        then  [address, if the gap is all ones]
//!  bits 45..61  gap to the object before / 8          size (32) + number of references (32); or
//!  bit  61      large: two words follow               size, number of references
//!                                                     the references, none of them null
//! ```

use crate::bytes::Damage;

const TYPE_BITS: u32 = 45;
const GAP_BITS: u32 = 16;
/// The gap that says: the address follows.
const FAR: u64 = (1 << GAP_BITS) - 1;
const LARGE: u64 = 1 << (TYPE_BITS + GAP_BITS);

/// Words of the longest head of an object.
pub const OBJECT_HEAD_WORDS: usize = 4;

/// An object, without its references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToldObject {
    /// Where it lies.
    pub address: u64,
    /// Its type: the address of its method table.
    pub class: u64,
    /// Its bytes, header included.
    pub size: u64,
    /// How many references follow.
    pub references: u64,
}

/// The place after an object, where the next one is expected.
#[inline]
fn after(address: u64, size: u64) -> u64 {
    address.wrapping_add(size.wrapping_add(7) & !7)
}

/// Writes heads of objects.
#[derive(Clone, Copy, Debug, Default)]
pub struct ObjectWriter {
    expected: u64,
}

impl ObjectWriter {
    /// Writes the head of an object and returns its words: [`OBJECT_HEAD_WORDS`] at most. One whose size or number of
    /// references does not fit into 32 bits is large; of one that is not, [`ObjectWriter::count`] can be set later.
    /// None if the type has no address that can be told, or there is no room.
    #[inline]
    pub fn head(&mut self, object: &ToldObject, large: bool, room: &mut [u64]) -> Option<usize> {
        let gap = object.address.wrapping_sub(self.expected) >> 3;
        let near = gap < FAR && object.address & 7 == 0;
        let class = object.class >> 3;
        if class >> TYPE_BITS != 0 {
            return None;
        }
        let mark = if large { LARGE } else { 0 };
        *room.first_mut()? = class | (if near { gap } else { FAR } << TYPE_BITS) | mark;
        let mut used = 1;
        if !near {
            *room.get_mut(used)? = object.address;
            used += 1;
        }
        if large {
            *room.get_mut(used)? = object.size;
            *room.get_mut(used + 1)? = object.references;
            used += 2;
        } else {
            *room.get_mut(used)? = object.size & 0xFFFF_FFFF | object.references << 32;
            used += 1;
        }
        self.expected = after(object.address, object.size);
        Some(used)
    }

    /// Sets the number of references in the last word of a head that is not large.
    #[inline]
    pub fn count(word: &mut u64, references: u32) {
        *word = *word & 0xFFFF_FFFF | u64::from(references) << 32;
    }
}

/// Takes what is told of the heap.
pub trait ObjectSink {
    /// The next object; false to stop.
    fn object(&mut self, object: ToldObject) -> bool;
    /// The next reference of the object before; false to stop.
    fn reference(&mut self, target: u64) -> bool;
}

/// Reads objects.
#[derive(Clone, Copy, Debug, Default)]
pub struct ObjectReader {
    expected: u64,
    /// References of the last object that are still to come.
    due: u64,
    /// Objects that came.
    pub objects: u64,
    /// References that came.
    pub references: u64,
}

impl ObjectReader {
    /// Reads the words of a slot. False if the sink wants no more.
    pub fn read(&mut self, bytes: &[u8], sink: &mut impl ObjectSink) -> Result<bool, Damage> {
        let (words, rest) = bytes.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(Damage { problem: "half a word", offset: bytes.len() - rest.len() });
        }
        let mut at = 0;
        let cut = |at: usize| Damage { problem: "head of an object", offset: at * 8 };
        let word = |at: usize| words.get(at).map(|word| u64::from_le_bytes(*word)).ok_or(cut(at));
        loop {
            let here = usize::try_from(self.due).unwrap_or(usize::MAX).min(words.len() - at);
            for target in words.get(at..at + here).unwrap_or_default() {
                if !sink.reference(u64::from_le_bytes(*target)) {
                    return Ok(false);
                }
            }
            self.due -= here as u64;
            self.references += here as u64;
            at += here;
            if at >= words.len() {
                return Ok(true);
            }
            let first = word(at)?;
            at += 1;
            let gap = first >> TYPE_BITS & FAR;
            let address = if gap == FAR {
                at += 1;
                word(at - 1)?
            } else {
                self.expected.wrapping_add(gap << 3)
            };
            let second = word(at)?;
            at += 1;
            let (size, references) = if first & LARGE != 0 {
                at += 1;
                (second, word(at - 1)?)
            } else {
                (second & 0xFFFF_FFFF, second >> 32)
            };
            if first >> (TYPE_BITS + GAP_BITS + 1) != 0 {
                return Err(cut(at));
            }
            let class = (first & ((1 << TYPE_BITS) - 1)) << 3;
            self.expected = after(address, size);
            self.due = references;
            self.objects += 1;
            if !sink.object(ToldObject { address, class, size, references }) {
                return Ok(false);
            }
        }
    }

    /// Whether all references came that were announced.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.due == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Kept(Vec<(ToldObject, Vec<u64>)>);

    impl ObjectSink for Kept {
        fn object(&mut self, object: ToldObject) -> bool {
            self.0.push((object, Vec::new()));
            true
        }

        fn reference(&mut self, target: u64) -> bool {
            self.0.last_mut().is_some_and(|(_, targets)| {
                targets.push(target);
                true
            })
        }
    }

    fn objects() -> Vec<(ToldObject, Vec<u64>)> {
        let object = |address, class, size, targets: &[u64]| {
            (ToldObject { address, class, size, references: targets.len() as u64 }, targets.to_vec())
        };
        vec![
            object(0x7f00_0000_1000, 0x7fff_ffff_fff8, 24, &[1, 2, 3]),
            object(0x7f00_0000_1018, 0x7f00_dead_bee8, 23, &[]),
            object(0x7f00_0000_1030, 0x7f00_dead_bee8, 0x1_0000_0000, &[9]),
            object(0x10, 8, 24, &[]),
            object(0x10 + 24 + 8 * (FAR - 1), 8, 24, &[7]),
            object(0xffff_ffff_ffff_fff8, 0, u64::MAX, &[0]),
            object(0x7, 16, 1, &[]),
        ]
    }

    #[test]
    fn objects_are_read_as_they_were_written() {
        let mut writer = ObjectWriter::default();
        let mut words = Vec::new();
        for (object, targets) in objects() {
            let mut room = [0; OBJECT_HEAD_WORDS];
            let large = object.size > 0xFFFF_FFFF;
            let used = writer.head(&object, large, &mut room).expect("an address");
            words.extend_from_slice(&room[..used]);
            words.extend(targets);
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (mut reader, mut kept) = (ObjectReader::default(), Kept::default());
        assert_eq!(reader.read(&bytes, &mut kept), Ok(true));
        assert_eq!(kept.0, objects());
        assert!(reader.is_whole());
        assert_eq!((reader.objects, reader.references), (7, 6));
    }

    #[test]
    fn references_may_come_in_the_next_slot_and_heads_may_not() {
        let (object, targets) = objects().remove(0);
        let mut room = [0; OBJECT_HEAD_WORDS];
        let used = ObjectWriter::default().head(&object, false, &mut room).expect("an address");
        let head: Vec<u8> = room[..used].iter().flat_map(|word| word.to_le_bytes()).collect();
        let (mut reader, mut kept) = (ObjectReader::default(), Kept::default());
        assert_eq!(reader.read(&head, &mut kept), Ok(true));
        assert!(!reader.is_whole());
        let rest: Vec<u8> = targets.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(reader.read(&rest, &mut kept), Ok(true));
        assert_eq!(kept.0, [(object, targets)]);
        assert!(ObjectReader::default().read(&head[..8], &mut kept).is_err());
        assert!(ObjectReader::default().read(&head[..5], &mut kept).is_err());
    }

    #[test]
    fn the_count_can_be_set_later() {
        let mut word = 0xFFFF_FFFF_0000_0018;
        ObjectWriter::count(&mut word, 5);
        assert_eq!(word, 0x5_0000_0018);
    }
}
