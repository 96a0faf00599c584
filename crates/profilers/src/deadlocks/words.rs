//! Names of threads and locks.

use model::{ThreadId, format_duration};

use super::watch::Watched;
use crate::blame;

/// Names of a list before the rest is only counted.
const MOST_NAMES: usize = 4;

/// `teller (4250)`.
pub(super) fn thread(watched: &Watched, thread: ThreadId) -> String {
    match watched.named(thread).map(|seen| seen.name.as_str()) {
        Some(name) if !name.is_empty() => format!("{name} ({thread})"),
        _ => format!("thread {thread}"),
    }
}

/// `a (1), b (2) and 7 more`.
pub(super) fn threads(watched: &Watched, all: &[ThreadId]) -> String {
    let mut names: Vec<String> = all.iter().take(MOST_NAMES).map(|id| thread(watched, *id)).collect();
    let more = all.len().saturating_sub(MOST_NAMES);
    if more > 0 {
        return format!("{} and {more} more", names.join(", "));
    }
    match (names.pop(), names.is_empty()) {
        (Some(last), false) => format!("{} and {last}", names.join(", ")),
        (last, _) => last.unwrap_or_default(),
    }
}

/// Where the program's own code of a thread is: `Bank.Ledger.Transfer:64`.
pub(super) fn place(watched: &Watched, thread: ThreadId) -> Option<String> {
    watched.named(thread)?.own_frame().map(blame::place)
}

/// Which fields refer to the lock that a thread waits for: `field Bank.Ledger._gate`.
pub(super) fn fields(watched: &Watched, thread: ThreadId) -> Option<String> {
    let fields = &watched.locks.get(&thread)?.fields;
    let (first, more) = fields.split_first()?;
    let more = match more.len() {
        0 => String::new(),
        1 => ", and 1 more refers to it".to_owned(),
        count => format!(", and {count} more refer to it"),
    };
    Some(format!("{first}{more}"))
}

/// How long a thread has not run: as the kernel says, or at least as long as we looked.
pub(super) fn still(watched: &Watched, thread: ThreadId) -> String {
    match watched.still.get(&thread) {
        Some(time) if *time >= watched.apart => format!("about {}", format_duration(*time)),
        _ => format!("at least {}", format_duration(watched.apart)),
    }
}
