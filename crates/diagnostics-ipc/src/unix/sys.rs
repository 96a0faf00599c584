//! System calls that no safe wrapper offers.
#![expect(
    unsafe_code,
    reason = "a foreign pid namespace makes the peer's pid 0, which rustix's Pid cannot hold; and setting a child's \
              death signal happens between fork and exec"
)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};

/// Makes the kernel end the child when the thread that starts it ends, however that happens. It does not reach
/// what the child starts, and a child that changes its user is released from it.
pub(super) fn end_with_this_thread(command: &mut Command) {
    let parent: Pid = getpid();
    // SAFETY: the closure runs after `fork` in a process of many threads, so it may only do what is safe in a
    // signal handler. It makes two plain system calls and neither allocates nor takes a lock.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have died before the call above; then nobody would send the signal any more.
            if getppid() != Some(parent) {
                return Err(io::Error::from_raw_os_error(Errno::SRCH.raw_os_error()));
            }
            Ok(())
        });
    }
}

/// Pid of the process at the other end, in our pid namespace; 0 when we cannot see it. It is the one that listens
/// when we have connected, and the one that has connected when we listen.
pub(super) fn peer_pid(socket: BorrowedFd<'_>) -> io::Result<i32> {
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let Ok(mut length) = libc::socklen_t::try_from(size_of_val(&credentials)) else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    // SAFETY: the pointers are to live locals, `length` is the size of the first, and `ucred` is plain integers,
    // for which every bit pattern is valid.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut credentials).cast(),
            &raw mut length,
        )
    };
    if result == 0 { Ok(credentials.pid) } else { Err(io::Error::last_os_error()) }
}
