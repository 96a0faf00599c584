//! Events of the runtime.

use crate::bytes::{Damage, Reader};

/// Words before the fields of an event.
pub const EVENT_HEAD_WORDS: usize = 2;
/// Longest payload of an event.
const LONGEST_EVENT: usize = 1 << 20;

/// The words before the fields of an event: its number and version, the bytes of its fields, and when it came in
/// nanoseconds.
#[must_use]
pub fn event_head(id: u16, version: u16, length: u32, at_ns: u64) -> [u64; EVENT_HEAD_WORDS] {
    [u64::from(id) | u64::from(version) << 16 | u64::from(length) << 32, at_ns]
}

/// An event of the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToldEvent<'a> {
    /// Its number.
    pub id: u16,
    /// Version of its layout.
    pub version: u16,
    /// When it came, in nanoseconds from the first look.
    pub at_ns: u64,
    /// Its fields.
    pub payload: &'a [u8],
}

/// Reads events, which may go over several slots.
#[derive(Clone, Debug, Default)]
pub struct EventReader {
    /// What is there of an event that is not whole yet, from its head on.
    started: Vec<u8>,
    /// Events that came.
    pub events: u64,
}

impl EventReader {
    /// Reads the words of a slot.
    pub fn read(&mut self, bytes: &[u8], mut take: impl FnMut(ToldEvent<'_>)) -> Result<(), Damage> {
        let mut whole;
        let mut rest = bytes;
        if !self.started.is_empty() {
            whole = std::mem::take(&mut self.started);
            whole.extend_from_slice(bytes);
            rest = &whole;
        }
        while !rest.is_empty() {
            let mut reader = Reader::new(rest);
            let (id, version) = (reader.u16("event")?, reader.u16("event")?);
            let length = usize::try_from(reader.u32("event")?).unwrap_or(usize::MAX);
            let at_ns = reader.u64("event")?;
            if length > LONGEST_EVENT {
                return Err(reader.damage("length of an event"));
            }
            let padded = length.next_multiple_of(8);
            let fields = rest.get(EVENT_HEAD_WORDS * 8..).unwrap_or_default();
            let Some(payload) = fields.get(..length).filter(|_| fields.len() >= padded) else {
                self.started = rest.to_vec();
                return Ok(());
            };
            take(ToldEvent { id, version, at_ns, payload });
            self.events += 1;
            rest = fields.get(padded..).unwrap_or_default();
        }
        Ok(())
    }

    /// Whether no event is half there.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.started.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_may_go_over_several_slots() {
        let payload: Vec<u8> = (0..21).collect();
        let head = event_head(18, 1, 21, 7);
        let mut bytes: Vec<u8> = head.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(&payload);
        bytes.extend([0; 3]);
        bytes.extend(bytes.clone());
        for cut in (0..bytes.len()).step_by(8).filter(|cut| *cut % 40 != 8) {
            let mut reader = EventReader::default();
            let mut seen = 0;
            for part in [&bytes[..cut], &bytes[cut..]] {
                let take = |event: ToldEvent<'_>| {
                    assert_eq!(event, ToldEvent { id: 18, version: 1, at_ns: 7, payload: &payload });
                    seen += 1;
                };
                reader.read(part, take).expect("events");
            }
            assert_eq!((seen, reader.events, reader.is_whole()), (2, 2, true), "cut at {cut}");
        }
        let long = event_head(18, 1, u32::MAX, 7);
        let long: Vec<u8> = long.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert!(EventReader::default().read(&long, |_| ()).is_err());
    }
}
