//! Sessions with several processes at once: a thread each, and what they tell in one queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use counters::{Plan, Told, watch};
use diagnostics_ipc::{Client, IpcError};
use discovery::DotnetProcess;
use event_session::{Going, SessionEnd};

use super::What;
use crate::exit_code::Code;
use crate::explain::Failure;
use crate::output::to_stderr;
use crate::redaction;

/// What may wait in the queue. When it is full, the sessions wait, and the targets drop events.
const QUEUE: usize = 4096;
/// How long a runtime may take to begin a session.
const BEGIN: Duration = Duration::from_secs(10);
/// A session that takes longer than this to end is worth a word.
const SLOW: Duration = Duration::from_secs(2);

/// How a session ended.
#[derive(Debug)]
pub enum Ending {
    /// It was stopped.
    Stopped,
    /// The target ended.
    Exited,
    /// The target did not answer any more.
    Hung,
    /// The stream was damaged.
    Damaged(String),
    /// It never began.
    Refused(IpcError),
}

/// What a session has to say.
#[derive(Debug)]
pub enum News {
    /// Of counters.
    Told(Told),
    /// It is over.
    Ended(Ending),
}

/// Sessions with several processes.
pub struct Watching {
    news: Option<Receiver<(usize, News)>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    running: usize,
}

impl Watching {
    /// Begins them all.
    pub fn begin(processes: &[DotnetProcess], what: &What) -> Result<Watching, Failure> {
        let (sender, receiver) = sync_channel(QUEUE);
        let stop = Arc::new(AtomicBool::new(false));
        let mut watching =
            Watching { news: Some(receiver), stop: Arc::clone(&stop), threads: Vec::new(), running: 0 };
        for (index, process) in processes.iter().enumerate() {
            let client = process.client().ok_or_else(|| {
                Failure::new(
                    Code::DiagnosticsOff,
                    format!("process {} has no diagnostics socket", process.pid),
                )
            })?;
            let plan =
                Plan::new(what.selection.clone(), what.limits, process.runtime_major(), &unique(index))
                    .with_redaction(redaction::chosen());
            let session = Session { index, sender: sender.clone(), stop: Arc::clone(&stop) };
            let thread = std::thread::Builder::new()
                .name(format!("counters-{}", process.pid))
                .spawn(move || session.run(&client.with_timeout(BEGIN), &plan))
                .map_err(|error| Failure::new(Code::Unexpected, format!("starting a thread: {error}")))?;
            watching.threads.push(thread);
            watching.running += 1;
        }
        Ok(watching)
    }

    /// The next news and of which process; none when nothing came in time, or all is over.
    pub fn next(&mut self, within: Duration) -> Option<(usize, News)> {
        match self.news.as_ref()?.recv_timeout(within) {
            Ok((index, news)) => {
                self.running -= usize::from(matches!(news, News::Ended(_)));
                Some((index, news))
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                self.running = 0;
                None
            }
        }
    }

    /// Whether any session is still running.
    pub fn is_running(&self) -> bool {
        self.running > 0
    }

    /// Asks all sessions to end; their last news still come.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }
}

impl Drop for Watching {
    /// A session that is left open would go on in the target.
    fn drop(&mut self) {
        self.stop();
        // Before the threads are waited for: they may be waiting for room in the queue.
        self.news = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Says a word when a session does not end at once, so that nobody takes the tool for hung.
#[derive(Default)]
pub struct Farewell {
    since: Option<Instant>,
    told: bool,
}

impl Farewell {
    /// The sessions were asked to end and have not yet.
    pub fn wait(&mut self) {
        let since = *self.since.get_or_insert_with(Instant::now);
        if !self.told && since.elapsed() > SLOW {
            self.told = true;
            to_stderr("the target does not react; waiting up to 10 s for its session to end\n");
        }
    }
}

struct Session {
    index: usize,
    sender: SyncSender<(usize, News)>,
    stop: Arc<AtomicBool>,
}

impl Session {
    fn run(self, client: &Client, plan: &Plan) {
        let tell = |told| _ = self.sender.send((self.index, News::Told(told)));
        let watched = watch(client, plan, tell, |waiting| {
            if self.stop.load(Ordering::Acquire) {
                return Going::Stop;
            }
            std::thread::sleep(waiting.slice);
            Going::On
        });
        let ending = match watched {
            Err(error) => Ending::Refused(error),
            Ok(driven) => match (driven.end, driven.value.damage) {
                (SessionEnd::StoppedAnswering, _) => Ending::Hung,
                (SessionEnd::Stopped, _) => Ending::Stopped,
                // The mark at the end of the stream was read, and not the end of the connection behind it.
                (SessionEnd::ConsumerLeft, None) if self.stop.load(Ordering::Acquire) => Ending::Stopped,
                (SessionEnd::ConsumerLeft, Some(damage)) => Ending::Damaged(damage.to_string()),
                // A stream that is cut is that of a process that was killed.
                (SessionEnd::TargetExited | SessionEnd::ConsumerLeft, _) => Ending::Exited,
            },
        };
        let _ = self.sender.send((self.index, News::Ended(ending)));
    }
}

/// A name for a session that nobody else has.
fn unique(index: usize) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("drdotnet-{}-{}-{index}", std::process::id(), now.as_nanos())
}
