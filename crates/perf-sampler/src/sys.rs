//! The kernel: opening events, mapping rings, and a clock. The only file with `unsafe`.
#![expect(unsafe_code, reason = "no safe wrapper offers perf_event_open and its shared ring")]

use std::cell::Cell;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use model::ProcessId;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

use crate::attr::Attr;
use crate::facts::Facts;
use crate::sieve::Instruction;

const CLOSE_ON_EXEC: libc::c_ulong = 8;

/// Numbers of the ioctls, from `linux/perf_event.h`; the same on every processor Rust's ring code runs on here.
const ENABLE: libc::c_ulong = 0x2400;
const DISABLE: libc::c_ulong = 0x2401;
const SET_OUTPUT: libc::c_ulong = 0x2405;
const SET_PROGRAM: libc::c_ulong = 0x4004_2408;
const ID: libc::c_ulong = 0x8008_2407;

/// Where the kernel and the reader tell each other how far they are, in the first page of a ring.
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;

/// Whom an event watches, in the words of `perf_event_open`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Watched {
    /// A thread; -1 for all.
    pub(crate) thread: i32,
    /// A CPU. (Always one: the kernel gives inherited events no ring otherwise.)
    pub(crate) cpu: i32,
}

/// What is asked of the kernel, and may be refused. Tests put a double here that refuses.
pub(crate) trait Kernel: Send {
    /// `perf_event_open`.
    fn open(&self, attr: &Attr, watched: Watched) -> Result<OwnedFd, Errno>;
    /// Maps the ring of an event.
    fn map(&self, event: BorrowedFd<'_>, data_bytes: usize) -> Result<RingMemory, Errno>;
    /// Raises the limit of open files as far as this process may. `false` when it is there already.
    fn raise_descriptor_limit(&self) -> bool;
    /// What the kernel allows, and to whom.
    fn facts(&self) -> Facts;
}

/// The real one.
#[derive(Debug)]
pub(crate) struct Linux;

impl Kernel for Linux {
    fn open(&self, attr: &Attr, watched: Watched) -> Result<OwnedFd, Errno> {
        // SAFETY: `attr` is a live structure whose size field is its size, and the call only reads it. The other
        // arguments are plain numbers.
        let result = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                std::ptr::from_ref(attr),
                watched.thread,
                watched.cpu,
                -1,
                CLOSE_ON_EXEC,
            )
        };
        match RawFd::try_from(result) {
            // SAFETY: the kernel has just made this descriptor for us, and nobody else knows it.
            Ok(descriptor) if descriptor >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
            _ => Err(last_error()),
        }
    }

    fn map(&self, event: BorrowedFd<'_>, data_bytes: usize) -> Result<RingMemory, Errno> {
        RingMemory::map(event, data_bytes)
    }

    fn raise_descriptor_limit(&self) -> bool {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        if limit.current == limit.maximum {
            return false;
        }
        limit.current = limit.maximum;
        setrlimit(Resource::Nofile, limit).is_ok()
    }

    fn facts(&self) -> Facts {
        Facts::read()
    }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

fn plain_ioctl(event: BorrowedFd<'_>, request: libc::c_ulong, argument: libc::c_long) -> Result<(), Errno> {
    // SAFETY: the requests passed here take a number, not a pointer, so the kernel touches none of our memory.
    let result = unsafe { libc::ioctl(event.as_raw_fd(), request, argument) };
    if result < 0 { Err(last_error()) } else { Ok(()) }
}

/// Starts an event and all that inherited it.
pub(crate) fn enable(event: BorrowedFd<'_>) -> Result<(), Errno> {
    plain_ioctl(event, ENABLE, 0)
}

/// Stops an event and all that inherited it.
pub(crate) fn disable(event: BorrowedFd<'_>) -> Result<(), Errno> {
    plain_ioctl(event, DISABLE, 0)
}

/// Makes an event write into the ring of another.
pub(crate) fn write_to(event: BorrowedFd<'_>, owner: BorrowedFd<'_>) -> Result<(), Errno> {
    plain_ioctl(event, SET_OUTPUT, libc::c_long::from(owner.as_raw_fd()))
}

/// Lets a program decide which samples of an event are taken.
pub(crate) fn sift(event: BorrowedFd<'_>, program: BorrowedFd<'_>) -> Result<(), Errno> {
    plain_ioctl(event, SET_PROGRAM, libc::c_long::from(program.as_raw_fd()))
}

/// A table of numbers for programs in the kernel, with room for so many.
pub(crate) fn new_table(most: u32) -> Result<OwnedFd, Errno> {
    const CREATE: libc::c_int = 0;
    #[repr(C)]
    struct Arguments {
        kind: u32,
        key_bytes: u32,
        value_bytes: u32,
        most: u32,
        flags: u32,
    }
    const HASH: u32 = 1;
    let arguments = Arguments { kind: HASH, key_bytes: 4, value_bytes: 4, most, flags: 0 };
    // SAFETY: these are the arguments that this command takes, without a pointer in them.
    let made = unsafe { bpf(CREATE, &arguments) }?;
    // SAFETY: the kernel has just made this descriptor for us, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(made) })
}

/// Puts a number into a table.
pub(crate) fn insert(table: BorrowedFd<'_>, number: u32) -> Result<(), Errno> {
    const UPDATE: libc::c_int = 2;
    #[repr(C, align(8))]
    struct Arguments {
        table: RawFd,
        unused: u32,
        key: *const u32,
        value: *const u32,
        flags: u64,
    }
    let present = 1_u32;
    let arguments = Arguments {
        table: table.as_raw_fd(),
        unused: 0,
        key: &raw const number,
        value: &raw const present,
        flags: 0,
    };
    // SAFETY: these are the arguments that this command takes; key and value are live and of the size that the table has.
    unsafe { bpf(UPDATE, &arguments) }.map(drop)
}

/// Hands a program for events to the kernel, which checks it.
pub(crate) fn load_program(instructions: &[Instruction]) -> Result<OwnedFd, Errno> {
    const LOAD: libc::c_int = 5;
    const FOR_EVENTS: u32 = 7;
    #[repr(C, align(8))]
    struct Arguments {
        kind: u32,
        count: u32,
        instructions: *const Instruction,
        licence: *const libc::c_char,
        log: [u64; 2],
        version_and_flags: u64,
    }
    let arguments = Arguments {
        kind: FOR_EVENTS,
        count: u32::try_from(instructions.len()).map_err(|_| Errno::TOOBIG)?,
        instructions: instructions.as_ptr(),
        licence: c"MIT".as_ptr(),
        log: [0; 2],
        version_and_flags: 0,
    };
    // SAFETY: these are the arguments that this command takes; the instructions are live, as many as said, and the licence
    // ends with a zero.
    let made = unsafe { bpf(LOAD, &arguments) }?;
    // SAFETY: the kernel has just made this descriptor for us, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(made) })
}

/// # Safety
///
/// The arguments must be the ones of the command, and what they point to alive.
unsafe fn bpf<T>(command: libc::c_int, arguments: &T) -> Result<RawFd, Errno> {
    // SAFETY: by the contract of this function; the kernel reads as many bytes as it is told there are.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(arguments), size_of::<T>()) };
    match RawFd::try_from(result) {
        Ok(made) if made >= 0 => Ok(made),
        _ => Err(last_error()),
    }
}

/// The number by which records name an event.
pub(crate) fn id(event: BorrowedFd<'_>) -> Result<u64, Errno> {
    let mut id = 0_u64;
    // SAFETY: this request writes one `u64` through the pointer, which is to a live one.
    let result = unsafe { libc::ioctl(event.as_raw_fd(), ID, &raw mut id) };
    if result < 0 { Err(last_error()) } else { Ok(id) }
}

/// CPU time that a process has used in all its threads, also those that have ended. `None` when it is gone.
pub(crate) fn cpu_time(process: ProcessId) -> Option<Duration> {
    /// `CPUCLOCK_SCHED`: in nanoseconds, as the scheduler counts.
    const SCHEDULED: i32 = 2;
    let clock = (!i32::try_from(process.0).ok()? << 3) | SCHEDULED;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one `timespec` through the pointer, which is to a live one.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    if result != 0 {
        return None;
    }
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

/// The memory of one ring: a page of positions, then bytes that the kernel writes and we read.
///
/// Positions only grow; where they lie in the ring is the remainder by its size. Between `tail` (ours) and `head`
/// (the kernel's) the kernel writes nothing, which is what makes it sound to hand out these bytes.
#[derive(Debug)]
pub(crate) struct RingMemory {
    base: NonNull<u8>,
    mapped: usize,
    data_offset: usize,
    /// A power of two.
    data_bytes: usize,
    /// The kernel's position when it was last looked at; never ahead of what is true.
    head: Cell<u64>,
    tail: u64,
}

// SAFETY: the mapping belongs to this value alone and may be used from any one thread at a time; the kernel's side
// is only touched through atomics.
unsafe impl Send for RingMemory {}

impl RingMemory {
    fn map(event: BorrowedFd<'_>, data_bytes: usize) -> Result<RingMemory, Errno> {
        let page = rustix::param::page_size();
        if !data_bytes.is_power_of_two() || data_bytes < page {
            return Err(Errno::INVAL);
        }
        let mapped = data_bytes.checked_add(page).ok_or(Errno::NOMEM)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice replaces nothing.
        let base = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), mapped, protection, MapFlags::SHARED, event, 0)
        }?;
        let base = NonNull::new(base.cast::<u8>()).ok_or(Errno::FAULT)?;
        Ok(RingMemory { base, mapped, data_offset: page, data_bytes, head: Cell::new(0), tail: 0 })
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: `offset` is one of the two constants, inside the first page and a multiple of 8; the mapping lives
        // as long as `self`, and both sides use this word atomically.
        unsafe { &*self.base.as_ptr().add(offset).cast::<AtomicU64>() }
    }

    /// Bytes of data the ring holds.
    pub(crate) fn size(&self) -> usize {
        self.data_bytes
    }

    /// Our position.
    pub(crate) fn tail(&self) -> u64 {
        self.tail
    }

    /// Looks how far the kernel is, and remembers it.
    pub(crate) fn look(&self) -> u64 {
        let head = self.position(DATA_HEAD).load(Ordering::Acquire);
        // Never more than a ring ahead, and never back; else nothing would be safe to read.
        let limit = self.tail.saturating_add(self.data_bytes as u64);
        self.head.set(head.clamp(self.head.get(), limit.max(self.head.get())));
        self.head.get()
    }

    /// The kernel's position when we last looked.
    pub(crate) fn head(&self) -> u64 {
        self.head.get()
    }

    /// The bytes from a position, which are two pieces when they run over the ring's end. `None` when some of them
    /// have been given back or are not there yet.
    pub(crate) fn bytes(&self, from: u64, length: usize) -> Option<(&[u8], &[u8])> {
        let end = from.checked_add(length as u64)?;
        if from < self.tail || end > self.head.get() {
            return None;
        }
        let start = usize::try_from(from & (self.data_bytes as u64 - 1)).ok()?;
        let first = length.min(self.data_bytes - start);
        let second = length - first;
        // SAFETY: both pieces lie inside the mapping: start + first <= data_bytes, and second <= data_bytes because
        // head - tail <= data_bytes. They lie between tail and head, where the kernel writes nothing until the tail
        // moves, for which `release` needs `&mut self`, so that no such slice lives then.
        unsafe {
            let data = self.base.as_ptr().add(self.data_offset);
            Some((
                std::slice::from_raw_parts(data.add(start), first),
                std::slice::from_raw_parts(data, second),
            ))
        }
    }

    /// Gives the bytes before a position back to the kernel.
    pub(crate) fn release(&mut self, to: u64) {
        self.tail = to.clamp(self.tail, self.head.get());
        self.position(DATA_TAIL).store(self.tail, Ordering::Release);
    }
}

impl Drop for RingMemory {
    fn drop(&mut self) {
        // SAFETY: this is the mapping made in `map`, whole, and no reference into it outlives `self`.
        // It cannot fail for a mapping of ours, and there would be nothing to do about it.
        let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.mapped) };
    }
}
