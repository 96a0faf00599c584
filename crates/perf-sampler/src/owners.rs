//! Which event speaks for which thread.
//!
//! While events are put into the threads of a process, a thread may be born: it inherits the event of its parent, and
//! then shows up in the list of threads and gets one of its own. Both would tell the same twice, so one is believed.

use std::collections::HashMap;

use model::ThreadId;

/// For each thread the thread whose event it is believed by.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    believed: HashMap<ThreadId, ThreadId>,
}

impl Owners {
    /// A thread got events of its own.
    pub(crate) fn attached(&mut self, thread: ThreadId) {
        self.believed.insert(thread, thread);
    }

    /// Whether a record about `thread`, by an event that was put into `owner`, is to be believed: its own event, else
    /// the first that speaks.
    pub(crate) fn believes(&mut self, thread: ThreadId, owner: ThreadId) -> bool {
        *self.believed.entry(thread).or_insert(owner) == owner
    }

    /// A thread ended, or became another by `exec`; its number may come again.
    pub(crate) fn forget(&mut self, thread: ThreadId) {
        self.believed.remove(&thread);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_is_told_of_once() {
        let [main, born, late] = [1, 2, 3].map(ThreadId);
        let mut owners = Owners::default();
        owners.attached(main);
        owners.attached(born);
        assert!(owners.believes(main, main));
        assert!(owners.believes(born, born));
        assert!(!owners.believes(born, main), "it inherited this one as well");
        // A child of `born` inherits both; the first that speaks is believed.
        assert!(owners.believes(late, main));
        assert!(!owners.believes(late, born));
        owners.forget(late);
        assert!(owners.believes(late, born), "a new thread with the same number");
    }
}
