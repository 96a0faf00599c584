//! Who opens files and sockets that stay open, on real programs.

use std::time::Duration;

use crate::support::{Patient, process};
use model::ProcessId;
use perf_sampler::{Cause, SamplerError};
use profilers::kernel::is_granted;
use profilers::{Openers, ProfilerError, Run, Settings, openers};
use testbed::{Runtime, Target};

fn watch(target: &Target, seconds: f64) -> Result<Openers, ProfilerError> {
    let (process, settings) = (process(target), Settings::default());
    let duration = Duration::from_secs_f64(seconds);
    openers(&Run::new(&process, &settings, duration, &Patient))
}

/// Others may use the processor's breakpoints, or a virtual one may have none: `ENOSPC`, `EOPNOTSUPP`.
fn has_breakpoints(error: &SamplerError) -> bool {
    let SamplerError::Refused { cause: Cause::Other { message }, .. } = error else { return true };
    !["os error 28", "os error 95"].iter().any(|known| message.contains(known))
}

#[test]
fn who_opens_files_and_leaves_them_open_is_seen_on_every_runtime() {
    for runtime in Runtime::ALL {
        let target = testbed::shared().target("descriptor-leak", runtime).start().unwrap();
        let granted = is_granted(ProcessId(target.pid()));
        let seen = match watch(&target, 4.0) {
            Err(ProfilerError::Sampling(error)) if !granted || !has_breakpoints(&error) => {
                return println!("skipped: {error}");
            }
            seen => seen.unwrap(),
        };
        assert!(seen.opened > 0, "{runtime}: {seen:?}");
        let (frames, count) = &seen.left_open[0];
        assert!(*count > 1, "{runtime}: {seen:?}");
        let own = frames.iter().find(|frame| frame.name == "Archive.DocumentStore.Open");
        assert!(own.is_some(), "{runtime}: {frames:?}");
    }
}
