//! The connection to the host. Nothing here waits without an end, and a host that is gone raises no signal.

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use agent_wire::{Damage, FromAgent, FromHost, Inbox, Message};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, Shutdown, SocketAddrUnix,
    SocketFlags, SocketType, connect, recvmsg, send, shutdown, socket_with,
};

/// Pause before trying again to reach a host whose queue is full.
const AGAIN: Duration = Duration::from_millis(5);

/// Why there is no message.
#[derive(Debug)]
pub(crate) enum Silence {
    /// The time is over.
    Timeout,
    /// The host is gone.
    Lost,
    /// What came makes no sense.
    Nonsense,
}

impl From<Damage> for Silence {
    fn from(_: Damage) -> Self {
        Silence::Nonsense
    }
}

pub(crate) struct Line {
    socket: OwnedFd,
    /// Held while a message is sent: two at once would be one heap of bytes.
    sending: Mutex<()>,
    /// What the host sent along with its last message.
    enclosed: Mutex<Option<OwnedFd>>,
}

impl Line {
    pub(crate) fn connect(path: &str, until: Instant) -> Result<Line, Silence> {
        let address = SocketAddrUnix::new(path).map_err(|_| Silence::Lost)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        loop {
            let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
                .map_err(|_| Silence::Lost)?;
            match connect(&socket, &address) {
                Ok(()) => {
                    return Ok(Line { socket, sending: Mutex::new(()), enclosed: Mutex::new(None) });
                }
                Err(Errno::AGAIN | Errno::INTR) if Instant::now() < until => std::thread::sleep(AGAIN),
                Err(_) => return Err(Silence::Lost),
            }
        }
    }

    /// Sends a message whole, or gives up.
    pub(crate) fn say(&self, message: &FromAgent, until: Instant) -> Result<(), Silence> {
        let _sending = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        self.send(message, until)
    }

    /// Sends a message if that can be done at once: for threads that are not ours.
    pub(crate) fn mention(&self, message: &FromAgent) {
        if let Ok(_sending) = self.sending.try_lock() {
            let _ = self.send(message, Instant::now());
        }
    }

    fn send(&self, message: &FromAgent, until: Instant) -> Result<(), Silence> {
        let bytes = message.encode();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            match send(&self.socket, rest, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(sent) => rest = rest.get(sent..).unwrap_or_default(),
                Err(Errno::AGAIN) => self.wait(PollFlags::OUT, until)?,
                Err(Errno::INTR) => {}
                Err(_) => return Err(Silence::Lost),
            }
        }
        Ok(())
    }

    /// The host's next message.
    pub(crate) fn hear(&self, inbox: &mut Inbox, until: Instant) -> Result<FromHost, Silence> {
        let mut buffer = [0; 1024];
        loop {
            if let Some(message) = inbox.message()? {
                return Ok(message);
            }
            match self.receive(&mut buffer) {
                Ok(0) => return Err(Silence::Lost),
                Ok(length) => inbox.feed(buffer.get(..length).unwrap_or_default()),
                Err(Errno::AGAIN) => self.wait(PollFlags::IN, until)?,
                Err(Errno::INTR) => {}
                Err(_) => return Err(Silence::Lost),
            }
        }
    }

    /// What is there, without a wait. A descriptor that comes along is kept until the next one comes; more than one at a
    /// time are closed.
    fn receive(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut enclosed = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let received = recvmsg(&self.socket, &mut [IoSliceMut::new(buffer)], &mut enclosed, flags)?;
        for message in enclosed.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                for descriptor in descriptors {
                    *self.enclosed.lock().unwrap_or_else(PoisonError::into_inner) = Some(descriptor);
                }
            }
        }
        Ok(received.bytes)
    }

    /// The descriptor that came along with a message, for whoever needs it first.
    pub(crate) fn enclosed(&self) -> Option<OwnedFd> {
        self.enclosed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether the host is gone, without a wait.
    pub(crate) fn is_broken(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut socket = [PollFd::new(&self.socket, PollFlags::empty())];
        poll(&mut socket, Some(&now)).is_ok_and(|found| found > 0)
    }

    /// Ends it for both sides; who waits on it wakes up.
    pub(crate) fn hang_up(&self) {
        let _ = shutdown(&self.socket, Shutdown::Both);
    }

    fn wait(&self, events: PollFlags, until: Instant) -> Result<(), Silence> {
        let left = until.checked_duration_since(Instant::now()).ok_or(Silence::Timeout)?;
        let left = Timespec::try_from(left).map_err(|_| Silence::Timeout)?;
        match poll(&mut [PollFd::new(&self.socket, events)], Some(&left)) {
            Ok(0) => Err(Silence::Timeout),
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(_) => Err(Silence::Lost),
        }
    }
}
