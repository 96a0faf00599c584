//! The one system call that the safe wrappers get wrong.
#![expect(
    unsafe_code,
    reason = "a foreign pid namespace makes the peer's pid 0, which rustix's Pid cannot hold"
)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Pid of the process that listens at the other end, in our pid namespace; 0 when we cannot see it.
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
