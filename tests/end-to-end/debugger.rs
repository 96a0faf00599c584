//! A debugger of the tests' own: it attaches to threads, lets them run or holds them, and lets go.

use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use nix::sys::ptrace;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

/// A debugger. The kernel wants all of it done by one thread.
pub struct Debugger {
    leave: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Debugger {
    /// Attaches to a process and lets it run.
    pub fn watches(pid: u32) -> Debugger {
        Debugger::begin(move || {
            ptrace::seize(id(pid), ptrace::Options::empty()).expect("it can be traced");
            vec![id(pid)]
        })
    }

    /// Attaches to all threads of a process that have such a name, and holds them.
    pub fn holds(pid: u32, is_meant: fn(&str) -> bool) -> Debugger {
        Debugger::begin(move || {
            let mut held = Vec::new();
            for task in std::fs::read_dir(format!("/proc/{pid}/task")).expect("it runs").flatten() {
                let name = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
                let task: u32 = task.file_name().to_str().expect("a number").parse().expect("a number");
                if is_meant(name.trim_end()) {
                    ptrace::attach(id(task)).expect("it can be traced");
                    waitpid(id(task), Some(WaitPidFlag::__WALL)).expect("it stops");
                    held.push(id(task));
                }
            }
            held
        })
    }

    fn begin(attach: impl FnOnce() -> Vec<Pid> + Send + 'static) -> Debugger {
        let (leave, wait) = channel();
        let (tell, attached) = channel();
        let thread = std::thread::spawn(move || {
            let tasks = attach();
            tell.send(tasks.len()).expect("somebody waits");
            let _ = wait.recv();
            for task in tasks {
                // One that runs must stand still to be let go of; one that has ended cannot.
                if ptrace::detach(task, None).is_err() && ptrace::interrupt(task).is_ok() {
                    let _ = waitpid(task, Some(WaitPidFlag::__WALL));
                    let _ = ptrace::detach(task, None);
                }
            }
        });
        assert!(attached.recv().expect("it attaches") > 0, "no such thread");
        Debugger { leave: Some(leave), thread: Some(thread) }
    }

    /// Lets go.
    pub fn leaves(self) {
        drop(self);
    }
}

impl Drop for Debugger {
    fn drop(&mut self) {
        drop(self.leave.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn id(pid: u32) -> Pid {
    Pid::from_raw(i32::try_from(pid).expect("a pid"))
}
