//! Keeps samples of other processes from being taken where one event per CPU sees them all.
//!
//! The kernel asks a program of ten instructions before it walks and copies a stack: is this one of the processes that we
//! want? Without it, others' samples cost them some ten microseconds each, and us the reading. Where the kernel does not
//! let us load it, they are dropped when read, as if it were not there.

use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use model::ProcessId;

use crate::options::{Children, Options, Scope};
use crate::sys;

/// The link of the first pid namespace, whose numbers are the ones that the program is told.
const FIRST_NAMESPACE: &str = "pid:[4026531836]";
/// Most processes that it knows.
const MOST: u32 = 4096;

/// An instruction: operation, registers, jump, number.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    operation: u8,
    registers: u8,
    offset: i16,
    number: i32,
}

const fn instruction(operation: u8, registers: u8, offset: i16, number: i32) -> Instruction {
    Instruction { operation, registers, offset, number }
}

/// Which processes are let through.
#[derive(Debug)]
pub(crate) struct Sieve {
    processes: OwnedFd,
    program: OwnedFd,
}

impl Sieve {
    /// For these options; none where all are wanted, where children are (they would be missed until we know them), and
    /// where the kernel says no.
    pub(crate) fn new(options: &Options) -> Option<Sieve> {
        let Scope::Processes(processes) = &options.scope else { return None };
        let ours = fs::read_link("/proc/self/ns/pid").ok()?;
        if options.children == Children::Followed || ours.as_os_str() != FIRST_NAMESPACE {
            return None;
        }
        let known = sys::new_table(MOST).ok()?;
        let program = sys::load_program(&program(&known)).ok()?;
        let sieve = Sieve { processes: known, program };
        processes.iter().all(|process| sieve.let_through(*process)).then_some(sieve)
    }

    /// Lets a further process through; `false` if that is not possible.
    pub(crate) fn let_through(&self, process: ProcessId) -> bool {
        sys::insert(self.processes.as_fd(), process.0).is_ok()
    }

    /// Sifts an event.
    pub(crate) fn put_on(&self, event: BorrowedFd<'_>) {
        // Refused by a kernel that cannot: then the event sees all.
        let _ = sys::sift(event, self.program.as_fd());
    }
}

/// 1 if the table has the current process, else 0.
fn program(table: &OwnedFd) -> [Instruction; 11] {
    use std::os::fd::AsRawFd as _;
    /// Numbers of the kernel's functions.
    const LOOKUP: i32 = 1;
    const CURRENT_PROCESS_AND_THREAD: i32 = 14;
    const CALL: u8 = 0x85;
    const EXIT: u8 = 0x95;
    [
        instruction(CALL, 0, 0, CURRENT_PROCESS_AND_THREAD),
        // r0 >>= 32: the process is in the upper half.
        instruction(0x77, 0, 0, 32),
        // *(u32 *)(r10 - 4) = r0
        instruction(0x63, 0x0a, -4, 0),
        // r2 = r10 - 4
        instruction(0xbf, 0xa2, 0, 0),
        instruction(0x07, 0x02, 0, -4),
        // r1 = the table, which takes two places; 1 in the second register says that it is a descriptor.
        instruction(0x18, 0x11, 0, table.as_raw_fd()),
        instruction(0, 0, 0, 0),
        instruction(CALL, 0, 0, LOOKUP),
        // if r0 == 0, leave with it
        instruction(0x15, 0, 1, 0),
        // r0 = 1
        instruction(0xb7, 0, 0, 1),
        instruction(EXIT, 0, 0, 0),
    ]
}
