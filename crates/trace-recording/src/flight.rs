//! The flight recorder: records for ever, keeps the last part, saves it when somebody says so.
//!
//! ```text
//! session 1 ====[ spool ]==> save: session 2 begins, session 1 is stopped and names its code --> file 1
//! session 2               ====[ spool ]==> ...
//! ```
//!
//! Every save ends its session, because only at its end does a runtime name the code that was compiled before. The
//! next session has begun by then, so nothing is missed in between.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use diagnostics_ipc::{Client, IpcError, TraceRequest};
use event_session::{Driven, Going, SessionEnd, drive};

use crate::copy::{Tally, copy, inspect};
use crate::error::RecordingError;
use crate::file::TraceFile;
use crate::keep::Keep;
use crate::live::Live;
use crate::record::Recorded;
use crate::spool::Spool;
use crate::watch::Watch;

/// How often the pilot is asked.
const GLANCE: Duration = Duration::from_millis(50);

/// What is recorded, and how much of it is kept.
pub struct Flight<'a> {
    /// Speaks to the target.
    pub client: &'a Client,
    /// What is asked for.
    pub request: &'a TraceRequest,
    /// How much is kept.
    pub keep: Keep,
    /// What is looked for in events.
    pub watch: Watch,
    /// A folder on the disk that has room for what is kept.
    pub folder: &'a Path,
}

/// What the pilot wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Go on.
    On,
    /// Save what there is and go on.
    Save,
    /// Save what there is and stop.
    Stop,
}

/// Whoever decides over a flight.
pub trait Pilot {
    /// The first session has begun.
    fn begun(&mut self) -> Wish {
        Wish::On
    }

    /// Asked many times a second; `session` is how long the present session has been running.
    fn look(&mut self, session: Duration, live: &Live) -> Wish;

    /// A file to save to.
    fn file(&mut self) -> Result<TraceFile, RecordingError>;

    /// Something was saved, or was to be saved.
    fn saved(&mut self, path: &Path, recorded: Recorded);
}

type Flown = Result<Driven<(Spool, Tally)>, RecordingError>;

/// A session with its spool, on a thread of its own.
struct Leg<'scope> {
    live: Arc<Live>,
    started: Arc<AtomicBool>,
    ends: Arc<AtomicBool>,
    began: Instant,
    thread: ScopedJoinHandle<'scope, Flown>,
}

impl<'scope> Leg<'scope> {
    fn begin(scope: &'scope Scope<'scope, '_>, flight: &'scope Flight<'_>) -> Leg<'scope> {
        let live = Arc::new(Live::default());
        let (started, ends) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let shared = (Arc::clone(&live), Arc::clone(&started), Arc::clone(&ends));
        let thread = scope.spawn(move || {
            let (live, started, ends) = shared;
            let mut spool = Spool::new(flight.folder, flight.keep, Arc::clone(&ends))?;
            let watch = flight.watch.clone();
            let driven = drive(
                flight.client,
                flight.request,
                |stream| {
                    let tally = copy(stream, &mut spool, watch, &live);
                    (spool, tally)
                },
                |waiting| {
                    started.store(true, Ordering::Release);
                    std::thread::sleep(waiting.slice);
                    if live.has_failed() || ends.load(Ordering::Acquire) { Going::Stop } else { Going::On }
                },
            )?;
            Ok(driven)
        });
        Leg { live, started, ends, began: Instant::now(), thread }
    }

    /// Waits until the session has begun; false if it has ended before that.
    fn wait_until_begun(&self) -> bool {
        while !self.started.load(Ordering::Acquire) {
            if self.thread.is_finished() {
                return self.started.load(Ordering::Acquire);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        true
    }

    /// Stops the session, waits for its end, and saves what it has kept.
    fn save(self, pilot: &mut dyn Pilot) -> Result<SessionEnd, RecordingError> {
        self.ends.store(true, Ordering::Release);
        let flown = match self.thread.join() {
            Ok(flown) => flown?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        let (mut spool, tally) = flown.value;
        let mut file = pilot.file()?;
        let path = file.path().to_owned();
        let mut failure = spool.take_failure();
        failure = spool.save(&mut file).err().or(failure);
        let size = match file.finish() {
            Ok(size) => size,
            Err(error) => {
                failure = failure.or(Some(error));
                0
            }
        };
        // What the file holds is less than what the session had.
        let tally = match inspect(&path) {
            Some(saved) => Tally { end: tally.end, ..saved },
            None => tally,
        };
        let end = flown.end;
        let recorded = Recorded { end, tally, granted: flown.granted, size, elapsed: flown.elapsed, failure };
        pilot.saved(&path, recorded);
        Ok(end)
    }
}

/// Flies until the pilot stops, the target ends, or the disk is full.
pub fn fly(flight: &Flight<'_>, pilot: &mut dyn Pilot) -> Result<(), RecordingError> {
    std::thread::scope(|scope| {
        let mut leg = Leg::begin(scope, flight);
        let mut wish = if leg.wait_until_begun() { pilot.begun() } else { Wish::Stop };
        loop {
            let is_over = leg.thread.is_finished() || leg.live.has_failed();
            match wish {
                _ if is_over => return leg.save(pilot).map(|_| ()),
                Wish::On => {}
                Wish::Stop => return leg.save(pilot).map(|_| ()),
                Wish::Save => {
                    let next = Leg::begin(scope, flight);
                    let goes_on = next.wait_until_begun();
                    leg.save(pilot)?;
                    if !goes_on {
                        return match next.thread.join() {
                            // The target has ended, and what it had is saved.
                            Ok(Err(RecordingError::Ipc(
                                IpcError::Closed { .. } | IpcError::Connect { .. },
                            )))
                            | Ok(Ok(_)) => Ok(()),
                            Ok(Err(error)) => Err(error),
                            Err(panic) => std::panic::resume_unwind(panic),
                        };
                    }
                    leg = next;
                }
            }
            std::thread::sleep(GLANCE);
            wish = pilot.look(leg.began.elapsed(), &leg.live);
        }
    })
}
