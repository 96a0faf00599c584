//! How often threads leave their CPU, before anything is opened: it decides how many of them may carry a stack.

use std::fs;
use std::time::{Duration, Instant};

use crate::options::{Options, Scope, WaitStacks};

/// Long enough to see a program that is busy switching.
const LOOK: Duration = Duration::from_millis(100);

/// Of how many switches one carries a stack.
pub(crate) fn stack_every(options: &Options) -> u32 {
    let per_second = match options.wait_stacks {
        WaitStacks::OneIn(switches) => return switches.max(1),
        WaitStacks::AtMost { per_second } => per_second.max(1),
    };
    let begun = Instant::now();
    let before = switches(&options.scope);
    std::thread::sleep(LOOK);
    let switches = switches(&options.scope).saturating_sub(before);
    one_in(switches, begun.elapsed(), per_second)
}

fn one_in(switches: u64, time: Duration, per_second: u32) -> u32 {
    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
    let rate = switches.saturating_mul(1000) / millis;
    u32::try_from(rate.div_ceil(u64::from(per_second))).unwrap_or(u32::MAX).max(1)
}

/// Times that a thread was put on a CPU so far, all threads together.
fn switches(scope: &Scope) -> u64 {
    let Scope::Processes(processes) = scope else {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let count = stat.lines().find_map(|line| line.strip_prefix("ctxt "));
        return count.and_then(|count| count.trim().parse().ok()).unwrap_or(0);
    };
    let tasks = processes.iter().filter_map(|process| fs::read_dir(format!("/proc/{process}/task")).ok());
    tasks
        .flatten()
        .flatten()
        .filter_map(|task| slices(&fs::read_to_string(task.path().join("schedstat")).ok()?))
        .sum()
}

/// The third number: time slices it was given.
fn slices(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use model::ProcessId;

    use super::*;

    #[test]
    fn few_switches_all_carry_a_stack_and_many_share() {
        assert_eq!(one_in(0, LOOK, 2000), 1);
        assert_eq!(one_in(200, LOOK, 2000), 1);
        assert_eq!(one_in(201, LOOK, 2000), 2);
        assert_eq!(one_in(9300, LOOK, 2000), 47, "93,000 switches a second");
        assert_eq!(one_in(u64::MAX, Duration::ZERO, 1), u32::MAX);
    }

    #[test]
    fn switches_are_counted() {
        assert_eq!(slices("16110937 2150110 83\n"), Some(83));
        let here = Scope::process(ProcessId(std::process::id()));
        assert!(switches(&here) > 0);
        assert!(switches(&Scope::Machine) > 0);
        assert_eq!(switches(&Scope::process(ProcessId(4_194_305))), 0);
    }
}
