//! The agent, attached.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use agent_wire::{
    Ask, FromAgent, FromHost, Hello, Inbox, Message, Method, Pause, Reason, Stack, ThreadEntry,
};
use diagnostics_ipc::HResult;

use crate::AgentError;

/// How long an answer may take: the agent itself tries for ten seconds to suspend a runtime that is collecting.
pub(crate) const ANSWER: Duration = Duration::from_secs(30);
/// How long leaving may take: the runtime waits until no thread is in the agent, looking a few times a second.
const LEAVE: Duration = Duration::from_secs(30);
/// Most parts of an answer: more than an honest agent sends.
const MOST_PARTS: usize = 64 * 1024;
/// Most bytes of an answer, likewise: all stacks are 4 MB, all methods with long names some ten more.
const MOST_BYTES: usize = 64 << 20;
/// Most frames of an answer, likewise.
pub(crate) const MOST_FRAMES: usize = 512 * 1024;

/// An agent in a target. Dropped, its line is cut, upon which it leaves by itself.
#[derive(Debug)]
pub struct Attached {
    pub(crate) stream: UnixStream,
    pub(crate) inbox: Inbox,
    hello: Hello,
    /// Bytes that came in all.
    bytes: u64,
    /// Bytes that came since the last question.
    received: usize,
}

/// All managed threads.
#[derive(Clone, Debug, Default)]
pub struct Threads {
    /// The threads.
    pub threads: Vec<ThreadEntry>,
    /// Whether some did not fit.
    pub left_out: u32,
    /// How long the target stood still.
    pub pause: Pause,
}

/// The stacks of all managed threads at one instant.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    /// The stacks.
    pub stacks: Vec<Stack>,
    /// Their methods, by id. Code that is generated while the program runs is not among them.
    pub methods: HashMap<u64, Method>,
    /// How many things did not fit.
    pub left_out: u32,
    /// How long the target stood still.
    pub pause: Pause,
}

/// How the agent left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Farewell {
    /// Why it left, in its own words.
    pub reason: Option<Reason>,
    /// Whether the runtime said that it is detached.
    pub confirmed: bool,
    /// How long it took.
    pub took: Duration,
}

impl Attached {
    pub(crate) fn new(stream: UnixStream, inbox: Inbox, hello: Hello) -> Self {
        Attached { stream, inbox, hello, bytes: 0, received: 0 }
    }

    /// What the agent said first.
    #[must_use]
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Bytes that came from it since its first words.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// All managed threads.
    pub fn threads(&mut self) -> Result<Threads, AgentError> {
        let mut answer = Threads::default();
        (answer.left_out, answer.pause) = self.ask(Ask::Threads, |part| match part {
            FromAgent::Thread(thread) => {
                answer.threads.push(thread);
                true
            }
            _ => false,
        })?;
        Ok(answer)
    }

    /// The stacks of all managed threads.
    pub fn stacks(&mut self) -> Result<Stacks, AgentError> {
        let mut answer = Stacks::default();
        let mut frames = 0;
        (answer.left_out, answer.pause) = self.ask(Ask::Stacks, |part| match part {
            FromAgent::Stack(stack) => {
                frames += stack.frames.len();
                answer.stacks.push(stack);
                frames <= MOST_FRAMES
            }
            FromAgent::Method(method) => {
                answer.methods.insert(method.id, method);
                true
            }
            _ => false,
        })?;
        Ok(answer)
    }

    /// Tells the agent to leave and waits until it is gone.
    pub fn leave(mut self) -> Result<Farewell, AgentError> {
        let began = Instant::now();
        // It may have left already: what it said last is still to be read.
        let _ = self.say(&FromHost::Leave, began + ANSWER);
        self.see_off(began, began + LEAVE)
    }

    /// Waits until the agent leaves of its own accord.
    pub fn wait_gone(mut self, patience: Duration) -> Result<Farewell, AgentError> {
        let began = Instant::now();
        self.see_off(began, began + patience)
    }

    fn see_off(&mut self, began: Instant, until: Instant) -> Result<Farewell, AgentError> {
        let mut farewell = Farewell { reason: None, confirmed: false, took: Duration::ZERO };
        loop {
            match self.hear(until) {
                Ok(FromAgent::Leaving(reason)) => farewell.reason = Some(reason),
                Ok(FromAgent::Detached) => farewell.confirmed = true,
                Ok(_) => {}
                // The runtime has given back the agent's last reference, or the process is gone.
                Err(AgentError::Lost { source }) if is_end(&source) => {
                    farewell.took = began.elapsed();
                    return Ok(farewell);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Asks, and hands each part of the answer to `take`, which says whether it belongs there.
    pub(crate) fn ask(
        &mut self,
        ask: Ask,
        take: impl FnMut(FromAgent) -> bool,
    ) -> Result<(u32, Pause), AgentError> {
        let until = Instant::now() + ANSWER;
        // It may have left already: what it said last is still to be read.
        let mut asked = self.say(&FromHost::Ask(ask), until).err();
        let heard = self.hear_answer(until, MOST_PARTS, take);
        heard.map_err(|error| match error {
            AgentError::Lost { .. } => asked.take().unwrap_or(error),
            error => error,
        })
    }

    /// Hands each part of an answer to `take`, which says whether it belongs there, until its end.
    pub(crate) fn hear_answer(
        &mut self,
        until: Instant,
        most: usize,
        mut take: impl FnMut(FromAgent) -> bool,
    ) -> Result<(u32, Pause), AgentError> {
        self.received = 0;
        for _ in 0..most {
            match self.hear(until)? {
                FromAgent::Leaving(reason) => return Err(AgentError::Left { reason }),
                FromAgent::Answered { left_out, pause } => return Ok((left_out, pause)),
                FromAgent::Refused { stage, code } => {
                    return Err(AgentError::Refused { stage, code: HResult(code) });
                }
                part => {
                    if !take(part) || self.received > MOST_BYTES {
                        break;
                    }
                }
            }
        }
        Err(AgentError::Damaged(agent_wire::Damage {
            problem: "a part that belongs to no answer, or more of them than there can be",
            offset: 0,
        }))
    }

    /// Says something that needs no answer.
    pub(crate) fn tell(&mut self, message: &FromHost) -> Result<(), AgentError> {
        self.say(message, Instant::now() + ANSWER)
    }

    fn say(&mut self, message: &FromHost, until: Instant) -> Result<(), AgentError> {
        let lost = |source| AgentError::Lost { source };
        self.stream.set_write_timeout(Some(left(until).map_err(lost)?)).map_err(lost)?;
        self.stream.write_all(&message.encode()).map_err(lost)
    }

    pub(crate) fn hear(&mut self, until: Instant) -> Result<FromAgent, AgentError> {
        let lost = |source| AgentError::Lost { source };
        let mut buffer = [0; 16 * 1024];
        loop {
            if let Some(message) = self.inbox.message().map_err(AgentError::Damaged)? {
                return Ok(message);
            }
            self.stream.set_read_timeout(Some(left(until).map_err(lost)?)).map_err(lost)?;
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(lost(io::ErrorKind::UnexpectedEof.into())),
                Ok(length) => {
                    self.bytes += length as u64;
                    self.received = self.received.saturating_add(length);
                    self.inbox.feed(buffer.get(..length).unwrap_or_default());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(lost(error)),
            }
        }
    }
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
    left.ok_or_else(|| io::ErrorKind::TimedOut.into())
}

fn is_end(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
    )
}
