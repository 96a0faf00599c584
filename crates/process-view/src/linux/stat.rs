//! `/proc/PID/stat` and `/proc/PID/task/TID/stat`: one line, the name in parentheses may hold anything.

/// Flag of a kernel thread in field 9 of `stat` (`PF_KTHREAD` in the kernel's sched.h).
const PF_KTHREAD: u64 = 0x0020_0000;

/// What a thread is doing, by the kernel's letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// `R`: on a processor or waiting for one.
    Running,
    /// `S`: waiting for something, can be interrupted.
    Sleeping,
    /// `D`: waiting inside the kernel, cannot be interrupted.
    DiskSleep,
    /// `T`: stopped by a signal.
    Stopped,
    /// `t`: stopped by a debugger.
    Traced,
    /// `Z`: ended, not yet collected by its parent.
    Zombie,
    /// `I`: an idle kernel thread.
    Idle,
    /// `X`: ended.
    Dead,
    /// A letter of a newer kernel.
    Other(char),
}

impl TaskState {
    fn from_letter(letter: char) -> Self {
        match letter {
            'R' => TaskState::Running,
            'S' => TaskState::Sleeping,
            'D' => TaskState::DiskSleep,
            'T' => TaskState::Stopped,
            't' => TaskState::Traced,
            'Z' => TaskState::Zombie,
            'I' => TaskState::Idle,
            'X' | 'x' => TaskState::Dead,
            other => TaskState::Other(other),
        }
    }

    /// A word for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            TaskState::Running => "running",
            TaskState::Sleeping => "sleeping",
            TaskState::DiskSleep => "in kernel",
            TaskState::Stopped => "stopped",
            TaskState::Traced => "debugged",
            TaskState::Zombie => "zombie",
            TaskState::Idle => "idle",
            TaskState::Dead => "ended",
            TaskState::Other(_) => "unknown",
        }
    }
}

/// The fields of `stat` that we use. Times are in clock ticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Name of the thread, at most 15 bytes; hostile.
    pub name: String,
    /// What it is doing.
    pub state: TaskState,
    /// Parent process.
    pub parent: u32,
    /// Kernel flags.
    pub flags: u64,
    /// Processor time in user mode, ticks.
    pub user_ticks: u64,
    /// Processor time in the kernel, ticks.
    pub system_ticks: u64,
    /// Number of threads of the process.
    pub threads: u64,
    /// Start, in ticks since boot: with the pid it names a process for good.
    pub start_ticks: u64,
}

impl Stat {
    /// Reads the line. `None` when a field is missing or no number.
    pub(crate) fn parse(line: &str) -> Option<Stat> {
        // The name may contain spaces and parentheses, so it ends at the *last* one.
        let open = line.find('(')?;
        let close = line.rfind(')')?;
        let name = line.get(open + 1..close)?.to_owned();
        let fields: Vec<&str> = line.get(close + 1..)?.split_ascii_whitespace().collect();
        // fields[0] is field 3 of proc(5).
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        // The line goes on after what we use; one that ends there was cut, perhaps within a number.
        number(23)?;
        Some(Stat {
            name,
            state: TaskState::from_letter(fields.first()?.chars().next()?),
            parent: u32::try_from(number(4)?).ok()?,
            flags: number(9)?,
            user_ticks: number(14)?,
            system_ticks: number(15)?,
            threads: number(20)?,
            start_ticks: number(22)?,
        })
    }

    /// Whether it is a thread of the kernel, which has no program.
    #[must_use]
    pub fn is_kernel_thread(&self) -> bool {
        self.flags & PF_KTHREAD != 0
    }

    /// All processor time, in ticks.
    #[must_use]
    pub fn cpu_ticks(&self) -> u64 {
        self.user_ticks.saturating_add(self.system_ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINE: &str =
        "42 (a) b (c) S 1 42 42 0 -1 4194304 1 2 3 4 150 50 0 0 20 0 7 0 9876 1000 200 18446744073709551615";

    #[test]
    fn a_name_with_parentheses_is_read() {
        let stat = Stat::parse(LINE).unwrap();
        assert_eq!(stat.name, "a) b (c");
        assert_eq!(stat.state, TaskState::Sleeping);
        assert_eq!((stat.parent, stat.threads, stat.start_ticks, stat.cpu_ticks()), (1, 7, 9876, 200));
        assert!(!stat.is_kernel_thread());
    }

    proptest! {
        #[test]
        fn no_line_panics(line in ".{0,200}") {
            let _ = Stat::parse(&line);
        }

        #[test]
        fn a_cut_line_is_refused_or_complete(cut in 0usize..LINE.len()) {
            if let Some(stat) = LINE.get(..cut).and_then(Stat::parse) {
                prop_assert_eq!(Some(stat), Stat::parse(LINE));
            }
        }
    }
}
