//! Records of the ring, from bytes to types. Opens nothing and never panics.
//!
//! The format is that of `linux/perf_event.h`. Every event here asks for the same trailer, and a sample's parts come
//! in the order of their bits, so a record explains itself but for one thing: whether its event copies stacks.

use model::{ProcessId, ThreadId};

use crate::arch;
use crate::record::{Addresses, FileKey, StackView, Thread, Timestamp};

/// Bytes of a record before its body.
pub(crate) const HEADER: usize = 8;

/// Bytes at the end of each record that is no sample: process and thread, time, CPU, event.
const TRAILER: usize = 32;

const MMAP: u32 = 1;
const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const THROTTLE: u32 = 5;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const MMAP2: u32 = 10;
const SWITCH: u32 = 14;
const SWITCH_CPU_WIDE: u32 = 15;

const MISC_BIT_13: u16 = 1 << 13;
const MISC_BIT_14: u16 = 1 << 14;

/// Above this, an entry of a call chain is a mark, not an address (`PERF_CONTEXT_MAX`).
const MARKS: u64 = (-4095_i64).cast_unsigned();
const MARK_KERNEL: u64 = (-128_i64).cast_unsigned();
const MARK_USER: u64 = (-512_i64).cast_unsigned();

const REGISTERS_64_BIT: u64 = 2;
const REGISTERS_NONE: u64 = 0;

/// The first 8 bytes of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: u32,
    pub(crate) misc: u16,
    pub(crate) size: u16,
}

impl Header {
    pub(crate) fn parse(bytes: [u8; HEADER]) -> Header {
        let [a, b, c, d, e, f, g, h] = bytes;
        Header {
            kind: u32::from_ne_bytes([a, b, c, d]),
            misc: u16::from_ne_bytes([e, f]),
            size: u16::from_ne_bytes([g, h]),
        }
    }

    /// Where the time of the record stands, from its begin. `None` when it is too short to have one.
    pub(crate) fn time_offset(self) -> Option<usize> {
        let size = usize::from(self.size);
        if self.kind == SAMPLE {
            (size >= HEADER + 32).then_some(HEADER + 24)
        } else {
            (size >= HEADER + TRAILER).then(|| size - TRAILER + 8)
        }
    }

    pub(crate) fn is_sample(self) -> bool {
        self.kind == SAMPLE
    }

    /// Which way a thread went, if the record tells of one that did.
    pub(crate) fn switch(self) -> Option<Switch> {
        if !matches!(self.kind, SWITCH | SWITCH_CPU_WIDE) {
            return None;
        }
        Some(match (self.misc & MISC_BIT_13 != 0, self.misc & MISC_BIT_14 != 0) {
            (false, _) => Switch::In,
            (true, false) => Switch::Out { preempted: false },
            (true, true) => Switch::Out { preempted: true },
        })
    }
}

/// A thread's coming and going.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Switch {
    In,
    Out { preempted: bool },
}

/// Who wrote a record, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) event: u64,
    pub(crate) thread: Thread,
    pub(crate) time: Timestamp,
    pub(crate) cpu: u32,
}

/// A record as the kernel wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body<'a> {
    Sample(SampleBody<'a>),
    Switch(Switch),
    Mapped(MapBody<'a>),
    Named {
        thread: Thread,
        name: &'a [u8],
        exec: bool,
    },
    Began {
        thread: Thread,
        parent: Thread,
    },
    Ended {
        thread: Thread,
    },
    Lost {
        records: u64,
    },
    Throttled,
    /// One that nobody needs.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MapBody<'a> {
    pub(crate) thread: Thread,
    pub(crate) start: u64,
    pub(crate) length: u64,
    pub(crate) offset: u64,
    pub(crate) key: FileKey<'a>,
    pub(crate) protection: u32,
    pub(crate) flags: u32,
    pub(crate) path: &'a [u8],
}

/// The parts of a sample behind its fixed begin, not looked at yet: most are of processes that nobody asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SampleBody<'a> {
    ip: u64,
    /// What was touched, where samples say so.
    pub(crate) address: Option<u64>,
    rest: &'a [u8],
}

/// Whether samples tell the address that was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touched {
    Told,
    None,
}

/// Reads a whole record. `None` when it is not what its header says.
pub(crate) fn parse(bytes: &[u8], touched: Touched) -> Option<(Origin, Body<'_>)> {
    let (header, body) = bytes.split_first_chunk::<HEADER>()?;
    let header = Header::parse(*header);
    if usize::from(header.size) != bytes.len() {
        return None;
    }
    if header.is_sample() {
        let mut cursor = Cursor(body);
        let event = cursor.u64()?;
        let ip = cursor.u64()?;
        let thread = cursor.thread()?;
        let time = Timestamp(cursor.u64()?);
        let address = match touched {
            Touched::Told => Some(cursor.u64()?),
            Touched::None => None,
        };
        let cpu = cursor.u32()?;
        cursor.u32()?;
        let body = SampleBody { ip, address, rest: cursor.0 };
        return Some((Origin { event, thread, time, cpu }, Body::Sample(body)));
    }
    let (body, trailer) = body.split_at_checked(body.len().checked_sub(TRAILER)?)?;
    let mut end = Cursor(trailer);
    let thread = end.thread()?;
    let time = Timestamp(end.u64()?);
    let cpu = end.u32()?;
    end.u32()?;
    let origin = Origin { event: end.u64()?, thread, time, cpu };
    Some((origin, Cursor(body).body(header)?))
}

#[derive(Clone, Copy)]
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_ne_bytes)
    }

    fn thread(&mut self) -> Option<Thread> {
        Some(Thread { process: ProcessId(self.u32()?), id: ThreadId(self.u32()?) })
    }

    /// The rest up to the first 0.
    fn text(self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        self.0.get(..end).unwrap_or_default()
    }

    fn body(mut self, header: Header) -> Option<Body<'a>> {
        if let Some(switch) = header.switch() {
            return Some(Body::Switch(switch));
        }
        Some(match header.kind {
            MMAP | MMAP2 => Body::Mapped(self.mapped(header)?),
            COMM => {
                let thread = self.thread()?;
                Body::Named { thread, name: self.text(), exec: header.misc & MISC_BIT_13 != 0 }
            }
            EXIT | FORK => {
                let (process, parent) = (self.u32()?, self.u32()?);
                let (thread, parent_thread) = (self.u32()?, self.u32()?);
                let thread = Thread { process: ProcessId(process), id: ThreadId(thread) };
                let parent = Thread { process: ProcessId(parent), id: ThreadId(parent_thread) };
                if header.kind == FORK { Body::Began { thread, parent } } else { Body::Ended { thread } }
            }
            LOST => {
                self.u64()?;
                Body::Lost { records: self.u64()? }
            }
            THROTTLE => Body::Throttled,
            _ => Body::Other,
        })
    }

    fn mapped(&mut self, header: Header) -> Option<MapBody<'a>> {
        let thread = self.thread()?;
        let (start, length, offset) = (self.u64()?, self.u64()?, self.u64()?);
        if header.kind == MMAP {
            let key = FileKey::Inode { major: 0, minor: 0, inode: 0 };
            return Some(MapBody {
                thread,
                start,
                length,
                offset,
                key,
                protection: 0,
                flags: 0,
                path: self.text(),
            });
        }
        let mut key = Cursor(self.take(24)?);
        let key = if header.misc & MISC_BIT_14 != 0 {
            let (size, id) = key.0.split_first()?;
            // Three bytes are reserved between the size and the id.
            FileKey::BuildId(id.get(3..)?.get(..usize::from(*size))?)
        } else {
            FileKey::Inode { major: key.u32()?, minor: key.u32()?, inode: key.u64()? }
        };
        let (protection, flags) = (self.u32()?, self.u32()?);
        Some(MapBody { thread, start, length, offset, key, protection, flags, path: self.text() })
    }
}

/// Whether samples of an event end with a copy of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StackCopy {
    Copied,
    None,
}

impl<'a> SampleBody<'a> {
    /// Reads the stack. `max_frames` is the kernel's limit: a chain that long was cut.
    pub(crate) fn stack(self, copy: StackCopy, max_frames: usize) -> Option<StackView<'a>> {
        let mut cursor = Cursor(self.rest);
        let entries = usize::try_from(cursor.u64()?).ok()?;
        let chain = cursor.take(entries.checked_mul(8)?)?;
        let (kernel, user) = split_chain(chain);
        let cut = kernel.len() + user.len() >= max_frames;
        let registers = match cursor.u64()? {
            REGISTERS_NONE => None,
            kind => {
                let mut values = [0; arch::COUNT];
                for value in &mut values {
                    *value = cursor.u64()?;
                }
                (kind == REGISTERS_64_BIT).then(|| arch::Registers::from_values(values))
            }
        };
        let mut memory: &[u8] = &[];
        if copy == StackCopy::Copied {
            let size = usize::try_from(cursor.u64()?).ok()?;
            if size > 0 {
                let area = cursor.take(size)?;
                // The area has a fixed size; this much of it was really copied.
                let copied = usize::try_from(cursor.u64()?).ok()?;
                memory = area.get(..copied.min(size))?;
            }
        }
        Some(StackView { ip: self.ip, kernel, user, registers, memory, cut })
    }
}

/// Cuts a call chain at its marks: the kernel's frames come first, then the user's.
fn split_chain(chain: &[u8]) -> (Addresses<'_>, Addresses<'_>) {
    let (mut kernel, mut user): (&[u8], &[u8]) = (&[], &[]);
    let all = Addresses::new(chain);
    let marks = all.iter().enumerate().filter(|(_, entry)| *entry >= MARKS);
    let ends = marks.clone().map(|(index, _)| index).skip(1).chain([all.len()]);
    for ((begin, mark), end) in marks.zip(ends) {
        let part = chain.get((begin + 1) * 8..end * 8).unwrap_or_default();
        match mark {
            MARK_KERNEL => kernel = part,
            MARK_USER => user = part,
            // Guests and hypervisors: not of this process.
            _ => {}
        }
    }
    (Addresses::new(kernel), Addresses::new(user))
}

#[cfg(test)]
mod tests;
