//! Native and kernel frames of threads that wait, read from outside: nothing stops for it, and the threads do not notice.

use std::collections::HashMap;

use kernel_profile::{Intake, Looked, Names};
use model::{Frame, FrameKind, ProcessId, ThreadId};
use perf_sampler::{KernelFrames, Leaving, OpenWait, Record, Seen, Thread, Timestamp, Wait};
use symbols::CodeMap;

/// Most threads that are looked at: a look takes some tens of microseconds of ours.
const MOST: usize = 4096;
/// Where walks of stacks end.
const DEEPEST: u32 = 512;

/// What was seen of threads that wait.
pub(crate) struct Parked {
    intake: Intake,
    pid: ProcessId,
    started: Timestamp,
    /// Whether this user may look.
    pub(crate) allowed: bool,
}

impl Parked {
    /// Looks at those threads that wait.
    pub(crate) fn look(pid: ProcessId, threads: impl IntoIterator<Item = ThreadId>) -> Parked {
        let mut parked =
            Parked { intake: Intake::new(DEEPEST), pid, started: Timestamp::now(), allowed: true };
        parked.intake.follow(pid);
        for id in threads.into_iter().take(MOST) {
            let thread = Thread { process: pid, id };
            let wait = OpenWait { thread, since: parked.started, has_stack: false };
            match parked.intake.look(&wait, KernelFrames::Wanted) {
                Looked::Seen => parked.intake.take(&Record::OffCpu(Wait {
                    thread,
                    from: parked.started,
                    to: Timestamp::now(),
                    leaving: Leaving::Unknown,
                    switch: None,
                    seen: Seen::Throughout,
                })),
                Looked::Refused => {
                    parked.allowed = false;
                    break;
                }
                Looked::Runnable | Looked::Moved => {}
            }
        }
        parked
    }

    /// The frames of each thread from the innermost to the first of .NET code, by the numbers that threads have for us.
    pub(crate) fn named(mut self, code: Option<&CodeMap>) -> HashMap<u32, Vec<Frame>> {
        let none = CodeMap::new();
        let names = Names { code: code.unwrap_or(&none), kernel: None, debug_cache: None };
        let profiles = self.intake.finish(self.pid, &names, self.started, Timestamp::now());
        let Some(profile) = profiles.map(|profiles| profiles.off_cpu) else { return HashMap::new() };
        profile
            .samples
            .iter()
            .filter_map(|sample| {
                let thread = profile.threads.get(sample.thread.0 as usize)?;
                let frames = profile
                    .frames_of(sample.stack?)
                    .take_while(|frame| !matches!(frame.kind, FrameKind::Managed | FrameKind::Stub))
                    .cloned()
                    .collect();
                Some((u32::try_from(thread.id).ok()?, frames))
            })
            .collect()
    }
}
