//! Start, read, stop: the life of a session.

use std::io::{ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use diagnostics_ipc::{Client, Granted, IpcError, SessionId, TraceRequest, TraceStream};

/// How long a read waits before it looks whether it should give up.
const READ_SLICE: Duration = Duration::from_millis(100);
/// How long `wait` is asked to wait at a time.
const WAIT_SLICE: Duration = Duration::from_millis(50);
/// Without a byte for this long after it was told to stop, a target counts as hung.
const PATIENCE: Duration = Duration::from_secs(10);
/// Rundown of a large process on a busy machine takes long; as long as bytes flow it is waited for.
const STOP_TIMEOUT: Duration = Duration::from_secs(600);

/// What the caller's `wait` answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Going {
    /// Go on.
    On,
    /// Stop the session.
    Stop,
}

/// What is known while a session runs.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// How long the caller may wait before it answers.
    pub slice: Duration,
    /// Since the session began.
    pub elapsed: Duration,
    /// Bytes that came.
    pub bytes: u64,
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// It was stopped, and the stream came to its end.
    Stopped,
    /// The stream ended by itself: the target exited.
    TargetExited,
    /// The target did not answer any more; what came before is there.
    StoppedAnswering,
    /// The consumer had enough, or could not go on, before the stream's end.
    ConsumerLeft,
}

/// What came of a session.
#[derive(Debug)]
pub struct Driven<T> {
    /// What the consumer returned.
    pub value: T,
    /// How it ended.
    pub end: SessionEnd,
    /// Which command was granted, and what was given up for it.
    pub granted: Granted,
    /// Bytes that came.
    pub bytes: u64,
    /// From the start of the session until it was told to stop, or ended.
    pub elapsed: Duration,
}

#[derive(Default)]
struct Shared {
    bytes: AtomicU64,
    give_up: AtomicBool,
    ended: AtomicBool,
}

/// The bytes of a session. A read waits for as long as it takes, unless the target is given up.
pub struct SessionStream {
    stream: TraceStream,
    shared: Arc<Shared>,
}

impl Read for SessionStream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            match self.stream.read(buffer) {
                Ok(received) => {
                    self.shared.bytes.fetch_add(received as u64, Ordering::Relaxed);
                    if received == 0 && !buffer.is_empty() {
                        self.shared.ended.store(true, Ordering::Release);
                    }
                    return Ok(received);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if self.shared.give_up.load(Ordering::Acquire) {
                        // An end rather than an error: the consumer keeps what it has.
                        return Ok(0);
                    }
                }
                // A process that dies with unread requests resets its connections.
                Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                    self.shared.ended.store(true, Ordering::Release);
                    return Ok(0);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Runs a session: `consume` reads its stream on a thread of its own, while `wait` is asked again and again whether to
/// go on. When it says stop, the session is stopped and `consume` gets the rest of the stream, rundown included.
pub fn drive<T: Send>(
    client: &Client,
    request: &TraceRequest,
    consume: impl FnOnce(SessionStream) -> T + Send,
    mut wait: impl FnMut(Waiting) -> Going,
) -> Result<Driven<T>, IpcError> {
    let (stream, granted) = client.collect_tracing(request)?;
    let session = stream.session;
    let _ = stream.set_read_timeout(Some(READ_SLICE));
    let shared = Arc::new(Shared::default());
    let events = SessionStream { stream, shared: Arc::clone(&shared) };
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let consumer = scope.spawn(move || consume(events));
        let mut asked = false;
        while !consumer.is_finished() && !shared.ended.load(Ordering::Acquire) {
            let bytes = shared.bytes.load(Ordering::Relaxed);
            let waiting = Waiting { slice: WAIT_SLICE, elapsed: begin.elapsed(), bytes };
            if wait(waiting) == Going::Stop {
                asked = true;
                break;
            }
        }
        let elapsed = begin.elapsed();
        let gave_up = asked && !stop(client, session, &shared, || consumer.is_finished());
        let value = match consumer.join() {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        let end = match (gave_up, asked, shared.ended.load(Ordering::Acquire)) {
            (true, _, _) => SessionEnd::StoppedAnswering,
            (_, true, true) => SessionEnd::Stopped,
            (_, false, true) => SessionEnd::TargetExited,
            (_, _, false) => SessionEnd::ConsumerLeft,
        };
        Ok(Driven { value, end, granted, bytes: shared.bytes.load(Ordering::Relaxed), elapsed })
    })
}

/// Tells the runtime to stop and waits for the consumer; false if the target had to be given up.
fn stop(client: &Client, session: SessionId, shared: &Shared, consumed: impl Fn() -> bool) -> bool {
    // The answer comes after the last event, so it must not be waited for here; a hung target must not hold us.
    let client = client.clone().with_timeout(STOP_TIMEOUT);
    let stopping = std::thread::Builder::new().name("session-stop".into());
    let _ = stopping.spawn(move || client.stop_tracing(session));
    let (mut seen, mut since) = (shared.bytes.load(Ordering::Relaxed), Instant::now());
    while !consumed() {
        std::thread::sleep(Duration::from_millis(2));
        let now = shared.bytes.load(Ordering::Relaxed);
        if now != seen || shared.ended.load(Ordering::Acquire) {
            (seen, since) = (now, Instant::now());
        } else if since.elapsed() > PATIENCE {
            shared.give_up.store(true, Ordering::Release);
            return false;
        }
    }
    true
}
