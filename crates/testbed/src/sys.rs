//! The one place with `unsafe`: what a child does between `fork` and `exec`.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};

/// Makes the kernel kill the child when the thread that spawns it ends.
///
/// `Command` changes user and group before it runs this, which matters: such a change clears the setting.
pub(crate) fn die_with_parent(command: &mut Command) {
    let parent: Pid = getpid();
    // SAFETY: the closure runs after `fork` in a process of many threads, so it may only do what is safe in a
    // signal handler. It makes two plain system calls and neither allocates nor takes a lock.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have died before the call above; then nobody would send the signal any more.
            if getppid() != Some(parent) {
                return Err(io::Error::from_raw_os_error(rustix::io::Errno::SRCH.raw_os_error()));
            }
            Ok(())
        });
    }
}
