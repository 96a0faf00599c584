//! Locks: who waits for what, and what the host must know of a runtime before it can ask.

use crate::bytes::{Damage, Reader, Writer};

/// Most parts of memory in one question.
pub const MOST_RANGES: usize = 4096;
/// Most bytes of one answer, counting four more for each part.
pub const MOST_BYTES: usize = 60_000;
/// Bytes of a lock that are told as they are.
pub const LOCK_WORDS: usize = 4;

/// A part of the target's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Where it begins.
    pub address: u64,
    /// Bytes of it.
    pub length: u32,
}

/// Where a thread's list of what it waits for begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitList {
    /// In the runtime's thread (3.1 and newer): monitors alone.
    Thread {
        /// Where in the thread its first entry is pointed to.
        head: u32,
    },
    /// In the thread's local data (9 and newer): monitors, and objects of `System.Threading.Lock`.
    Local {
        /// Where in the thread its local data is pointed to.
        data: u32,
        /// Where in those the first entry is pointed to.
        head: u32,
    },
}

/// What the host has found out about this runtime's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockLayout {
    /// Where a thread's list begins.
    pub list: WaitList,
    /// Where in a monitor its number in the table of monitors stands.
    pub index: u32,
    /// Address of the variable that points to that table; 0 if it is not known.
    pub table: u64,
}

/// What a thread does to a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum WaitKind {
    /// It wants to enter a monitor.
    Enter,
    /// It waits for a pulse of a monitor.
    Pulse,
    /// It wants to enter a `System.Threading.Lock`.
    Lock,
}

impl WaitKind {
    /// By the runtime's number.
    #[must_use]
    pub fn of(number: u32) -> Option<WaitKind> {
        [WaitKind::Enter, WaitKind::Pulse, WaitKind::Lock]
            .into_iter()
            .find(|&kind| u32::from(kind as u8) == number)
    }
}

/// A thread that waits for a lock. Its innermost wait stands first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The runtime's id of the thread.
    pub thread: u64,
    /// How it waits.
    pub kind: WaitKind,
    /// For how many milliseconds at most; -1 is for ever.
    pub timeout: i32,
    /// Address of the monitor, which stays, or of the lock object, which may move.
    pub lock: u64,
    /// What stands there.
    pub words: [u64; LOCK_WORDS],
    /// The lock object; 0 if it is not known.
    pub object: u64,
    /// Its type; 0 if it is not known.
    pub class: u64,
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// The runtime's id.
    pub id: u64,
    /// Its row in the metadata; 0 for an array.
    pub token: u32,
    /// File of its module.
    pub module: String,
    /// Its name, as the metadata has it; outer types first, separated by `+`. Empty in a module that can be unloaded.
    pub name: String,
}

/// Something that refers to a lock object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Address of the lock, as in [`Blocked`] of the same answer.
    pub lock: u64,
    /// The type of the object that refers to it, or that declares the static field.
    pub class: u64,
    /// The field; empty if the place has no name, such as an element of an array.
    pub field: String,
    /// Whether it is a static field.
    pub is_static: bool,
}

impl LockLayout {
    pub(crate) fn write(&self, body: &mut Writer) {
        match self.list {
            WaitList::Thread { head } => body.u8(0).u32(0).u32(head),
            WaitList::Local { data, head } => body.u8(1).u32(data).u32(head),
        };
        body.u32(self.index).u64(self.table);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let is_local = reader.flag("kind of list")?;
        let (data, head) = (reader.u32("place of data")?, reader.u32("place of a list")?);
        let list = if is_local { WaitList::Local { data, head } } else { WaitList::Thread { head } };
        Ok(LockLayout { list, index: reader.u32("place of an index")?, table: reader.u64("table")? })
    }
}

pub(crate) fn write_ranges(ranges: &[Range], body: &mut Writer) {
    let ranges = ranges.get(..MOST_RANGES).unwrap_or(ranges);
    body.u32(u32::try_from(ranges.len()).unwrap_or(0));
    for range in ranges {
        body.u64(range.address).u32(range.length);
    }
}

pub(crate) fn read_ranges(reader: &mut Reader<'_>) -> Result<Vec<Range>, Damage> {
    let count = reader.count(12, "number of parts")?;
    if count > MOST_RANGES {
        return Err(reader.damage("number of parts"));
    }
    let mut bytes = 0usize;
    let mut ranges = Vec::with_capacity(count);
    for _ in 0..count {
        let range = Range { address: reader.u64("address")?, length: reader.u32("length")? };
        bytes = bytes.saturating_add(usize::try_from(range.length).unwrap_or(usize::MAX)).saturating_add(4);
        ranges.push(range);
    }
    if bytes > MOST_BYTES { Err(reader.damage("number of bytes")) } else { Ok(ranges) }
}

pub(crate) fn write_memory(parts: &[Option<Vec<u8>>], body: &mut Writer) {
    body.u32(u32::try_from(parts.len()).unwrap_or(0));
    for part in parts {
        let length = part.as_ref().map_or(u32::MAX, |part| u32::try_from(part.len()).unwrap_or(u32::MAX));
        body.u32(length).raw(part.as_deref().unwrap_or_default());
    }
}

pub(crate) fn read_memory(reader: &mut Reader<'_>) -> Result<Vec<Option<Vec<u8>>>, Damage> {
    let count = reader.count(4, "number of parts")?;
    let mut parts = Vec::with_capacity(count.min(MOST_RANGES));
    for _ in 0..count {
        parts.push(match reader.u32("length")? {
            u32::MAX => None,
            length => Some(reader.bytes(usize::try_from(length).unwrap_or(usize::MAX), "memory")?.to_vec()),
        });
    }
    Ok(parts)
}

impl Blocked {
    pub(crate) fn write(&self, body: &mut Writer) {
        body.u64(self.thread).u8(self.kind as u8).u32(self.timeout.cast_unsigned()).u64(self.lock);
        for word in self.words {
            body.u64(word);
        }
        body.u64(self.object).u64(self.class);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let thread = reader.u64("thread")?;
        let kind = WaitKind::of(reader.u8("kind of wait")?.into()).ok_or(reader.damage("kind of wait"))?;
        let timeout = reader.u32("timeout")?.cast_signed();
        let lock = reader.u64("lock")?;
        let mut words = [0; LOCK_WORDS];
        for word in &mut words {
            *word = reader.u64("lock")?;
        }
        let (object, class) = (reader.u64("object")?, reader.u64("type")?);
        Ok(Blocked { thread, kind, timeout, lock, words, object, class })
    }
}

impl Class {
    pub(crate) fn write(&self, body: &mut Writer) {
        body.u64(self.id).u32(self.token).text(&self.module).text(&self.name);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        Ok(Class {
            id: reader.u64("type")?,
            token: reader.u32("token")?,
            module: reader.text("module")?,
            name: reader.text("name")?,
        })
    }
}

impl Owner {
    pub(crate) fn write(&self, body: &mut Writer) {
        body.u64(self.lock).u64(self.class).text(&self.field).u8(self.is_static.into());
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        Ok(Owner {
            lock: reader.u64("lock")?,
            class: reader.u64("type")?,
            field: reader.text("field")?,
            is_static: reader.flag("whether it is static")?,
        })
    }
}
