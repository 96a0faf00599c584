//! What a thread waits in, as the kernel says it.

use process_view::Task;

/// System calls that wait, by their numbers on x64; elsewhere the kernel's function has to do.
const WAITS: &[(u32, &str)] = &[
    (0, "read"),
    (1, "write"),
    (7, "poll"),
    (17, "pread64"),
    (18, "pwrite64"),
    (19, "readv"),
    (20, "writev"),
    (23, "select"),
    (34, "pause"),
    (35, "nanosleep"),
    (42, "connect"),
    (43, "accept"),
    (44, "sendto"),
    (45, "recvfrom"),
    (46, "sendmsg"),
    (47, "recvmsg"),
    (61, "wait4"),
    (72, "fcntl"),
    (73, "flock"),
    (74, "fsync"),
    (75, "fdatasync"),
    (128, "rt_sigtimedwait"),
    (130, "rt_sigsuspend"),
    (202, "futex"),
    (230, "clock_nanosleep"),
    (232, "epoll_wait"),
    (247, "waitid"),
    (257, "openat"),
    (270, "pselect6"),
    (271, "ppoll"),
    (281, "epoll_pwait"),
    (288, "accept4"),
    (295, "preadv"),
    (296, "pwritev"),
    (299, "recvmmsg"),
    (441, "epoll_pwait2"),
    (449, "futex_waitv"),
];

/// The system call that a thread waits in, or the kernel's function; `None` if it runs, or if we may not know.
pub(super) fn of(task: &Task) -> Option<String> {
    let known = || {
        let number = task.system_call()?;
        WAITS.iter().find(|(known, _)| *known == number).map(|(_, name)| (*name).to_owned())
    };
    let by_number = if cfg!(target_arch = "x86_64") { known() } else { None };
    by_number.or_else(|| task.kernel_function())
}
