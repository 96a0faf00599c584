//! A plain recording: from the start of a session to its end, into one file.

use std::time::Duration;

use diagnostics_ipc::{Client, Granted, TraceRequest};
use event_session::{Going, SessionEnd, Waiting, drive};
use nettrace::copying::WholeBlock;

use crate::copy::{Sink, Tally, copy, inspect};
use crate::error::RecordingError;
use crate::file::TraceFile;
use crate::live::Live;
use crate::watch::Watch;

/// A recording that has ended.
#[derive(Debug)]
pub struct Recorded {
    /// How the session ended.
    pub end: SessionEnd,
    /// What is in it, and what is not.
    pub tally: Tally,
    /// How the session was granted.
    pub granted: Granted,
    /// Bytes of the file.
    pub size: u64,
    /// How long it was recorded, until it was told to stop.
    pub elapsed: Duration,
    /// Why not all of it is in the file.
    pub failure: Option<RecordingError>,
}

struct FileSink {
    file: TraceFile,
    failure: Option<RecordingError>,
}

impl Sink for FileSink {
    fn block(&mut self, block: &WholeBlock<'_>) {
        if self.failure.is_none() {
            self.failure = self.file.append(block).err();
        }
    }

    fn bytes(&self) -> u64 {
        self.file.size()
    }

    fn has_failed(&self) -> bool {
        self.failure.is_some()
    }
}

/// Records a session into a file. `wait` is asked again and again whether to go on; the first time, the session has
/// begun. A file that cannot be written any more ends the session, which then goes on to be read, so that the target
/// is not harmed.
pub fn record(
    client: &Client,
    request: &TraceRequest,
    file: TraceFile,
    watch: Watch,
    live: &Live,
    mut wait: impl FnMut(Waiting) -> Going,
) -> Result<Recorded, RecordingError> {
    let mut sink = FileSink { file, failure: None };
    let driven = drive(
        client,
        request,
        |stream| {
            let tally = copy(stream, &mut sink, watch, live);
            (tally, sink)
        },
        |waiting| if live.has_failed() || live.saw_stopping_event() { Going::Stop } else { wait(waiting) },
    )?;
    let (mut tally, sink) = driven.value;
    let path = sink.file.path().to_owned();
    let (size, failure) = match (sink.file.finish(), sink.failure) {
        (Ok(size), failure) => (size, failure),
        (Err(error), failure) => (0, failure.or(Some(error))),
    };
    if failure.is_some()
        && let Some(kept) = inspect(&path)
    {
        // The stream was read to its end all the same; what counts is what the file has of it.
        tally = Tally { end: tally.end, ..kept };
    }
    Ok(Recorded { end: driven.end, tally, granted: driven.granted, size, elapsed: driven.elapsed, failure })
}
