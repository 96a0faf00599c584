//! Connecting to the runtime's socket.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, IoSlice, Read};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use model::ProcessId;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags,
    SocketType, connect, sendmsg, socket_with,
};

use super::Connection;
use super::sys::peer_pid;
use crate::{Client, Deadline, IpcError, Quiet, SessionId, Transport};

/// Longest path that fits into a socket address, without its final NUL.
const LONGEST_PATH: usize = 107;
/// How long a session that nobody reads any more may take to end.
const FAREWELL: Duration = Duration::from_secs(5);
/// Pause before connecting again to a runtime whose queue of connections is full.
const RETRY: Duration = Duration::from_millis(10);

/// Where a runtime listens.
#[derive(Clone, Debug)]
pub struct Endpoint {
    place: Place,
    shown: PathBuf,
    expected: Option<ProcessId>,
    /// Shared by its clones.
    quiet: Arc<Quiet>,
}

#[derive(Clone, Debug)]
enum Place {
    Path(PathBuf),
    /// A name in an open folder: reaches into other mount namespaces, and is short whatever the folder's path.
    InFolder(Arc<File>, OsString),
}

impl Endpoint {
    /// The socket at a path of any length.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Endpoint { place: Place::Path(path.clone()), shown: path, expected: None, quiet: Arc::default() }
    }

    /// The socket of that name in an open folder; `shown` is the path to print.
    pub fn in_folder(folder: Arc<File>, name: impl Into<OsString>, shown: impl Into<PathBuf>) -> Self {
        let place = Place::InFolder(folder, name.into());
        Endpoint { place, shown: shown.into(), expected: None, quiet: Arc::default() }
    }

    /// The same socket, but only if this process (its pid in our namespace) listens there: every connection is
    /// checked with the kernel, and one to anybody else is [`IpcError::Impostor`].
    #[must_use]
    pub fn expecting(mut self, pid: ProcessId) -> Self {
        self.expected = Some(pid);
        self
    }

    /// The path to print.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shown
    }

    /// Connects, and tells which process listens there: its pid in our namespace, or `None` when it lies in a
    /// namespace that we do not see.
    pub fn listener(&self, timeout: Duration) -> Result<Option<ProcessId>, IpcError> {
        let connection = self.connect_unchecked(&Deadline::after(timeout))?;
        self.listener_of(&connection)
    }

    fn listener_of(&self, connection: &Connection) -> Result<Option<ProcessId>, IpcError> {
        let pid = peer_pid(connection.as_fd()).map_err(|error| self.failed(error))?;
        Ok(u32::try_from(pid).ok().filter(|&pid| pid != 0).map(ProcessId))
    }

    fn connect_unchecked(&self, deadline: &Deadline) -> Result<Connection, IpcError> {
        match &self.place {
            Place::Path(path) if path.as_os_str().as_bytes().len() <= LONGEST_PATH => {
                self.connect_short(path, deadline)
            }
            Place::Path(path) => {
                let name = path.file_name().unwrap_or(OsStr::new(""));
                let parent = path.parent().unwrap_or(Path::new("/"));
                // Not for reading: a folder that may be passed through need not be readable.
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let folder = open(parent, flags, Mode::empty()).map_err(|errno| self.failed(errno))?;
                self.connect_short(&through_descriptor(&folder, name), deadline)
            }
            Place::InFolder(folder, name) => self.connect_short(&through_descriptor(folder, name), deadline),
        }
    }

    fn failed(&self, error: impl Into<io::Error>) -> IpcError {
        IpcError::Connect { address: self.shown.display().to_string(), source: error.into() }
    }

    fn connect_short(&self, path: &Path, deadline: &Deadline) -> Result<Connection, IpcError> {
        let address = SocketAddrUnix::new(path).map_err(|errno| self.failed(errno))?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        loop {
            let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
                .map_err(|errno| self.failed(errno))?;
            match connect(&socket, &address) {
                Ok(()) => {
                    let connection = UnixStream::from(socket);
                    connection.set_nonblocking(false).map_err(|error| self.failed(error))?;
                    return Ok(connection);
                }
                // The listener's queue is full: a hung process with many callers. Blocking here would ignore
                // the deadline, so ask again until it passes.
                Err(Errno::AGAIN | Errno::INTR) if deadline.left().is_some() => std::thread::sleep(RETRY),
                Err(Errno::AGAIN | Errno::INTR) => {
                    return Err(self.failed(io::Error::from(io::ErrorKind::TimedOut)));
                }
                Err(errno) => return Err(self.failed(errno)),
            }
        }
    }
}

impl Transport for Endpoint {
    fn connect(&self, deadline: &Deadline) -> Result<Connection, IpcError> {
        let connection = self.connect_unchecked(deadline)?;
        if let Some(expected) = self.expected {
            let listener = self.listener_of(&connection)?;
            if listener != Some(expected) {
                let address = self.shown.display().to_string();
                return Err(IpcError::Impostor { address, expected, listener });
            }
        }
        Ok(connection)
    }

    fn quiet(&self) -> Arc<Quiet> {
        Arc::clone(&self.quiet)
    }
}

/// A path of a few bytes to a file in an open folder.
fn through_descriptor(folder: &impl AsRawFd, name: &OsStr) -> PathBuf {
    Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name)
}

/// The events of a tracing session, as the runtime writes them.
///
/// Dropped before its end, it stops the session and waits for that, a few seconds at most: a .NET Core 3.1 crashes
/// soon after the connection of a running session was just closed.
pub struct TraceStream {
    /// The session, for [`Client::stop_tracing`].
    pub session: SessionId,
    connection: Connection,
    client: Client,
    ended: bool,
}

impl TraceStream {
    pub(crate) fn new(session: SessionId, connection: Connection, client: Client) -> Self {
        // The reader waits for events as long as it likes; timeouts were for the command.
        let _ = connection.set_read_timeout(None);
        TraceStream { session, connection, client, ended: false }
    }

    /// Makes a read that finds no byte for this long end with `WouldBlock`; `None` waits for ever.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.connection.set_read_timeout(timeout)
    }
}

impl Read for TraceStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let received = self.connection.read(buffer)?;
        self.ended |= received == 0 && !buffer.is_empty();
        Ok(received)
    }
}

impl Drop for TraceStream {
    fn drop(&mut self) {
        if self.ended || self.connection.set_read_timeout(Some(FAREWELL)).is_err() {
            return;
        }
        let client = self.client.clone().with_timeout(FAREWELL);
        let (session, mut events) = (self.session, &self.connection);
        std::thread::scope(|scope| {
            // What is still to come must be read, or the runtime could not finish.
            let rest = std::thread::Builder::new()
                .name("session-end".into())
                .spawn_scoped(scope, move || read_rest(&mut events));
            let Ok(rest) = rest else { return };
            // The process may have ended, and nobody is left to be told of a failure.
            if client.stop_tracing(session).is_err() {
                let _ = self.connection.shutdown(Shutdown::Both);
            }
            let _ = rest.join();
        });
    }
}

/// Reads to the end, but not for ever: a process that never ends its stream must not hold us.
fn read_rest(events: &mut impl Read) {
    let deadline = Deadline::after(FAREWELL * 2);
    let mut passed_over = [0; 16 * 1024];
    while deadline.left().is_some() {
        match events.read(&mut passed_over) {
            Ok(0) => break,
            Err(error) if error.kind() != io::ErrorKind::Interrupted => break,
            _ => {}
        }
    }
}

impl fmt::Debug for TraceStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceStream").field("session", &self.session).finish_non_exhaustive()
    }
}

impl AsFd for TraceStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.connection.as_fd()
    }
}

/// Passes an open file to the runtime, with the one byte that the kernel wants to go with it.
pub(crate) fn send_descriptor(connection: &Connection, descriptor: BorrowedFd<'_>) -> io::Result<()> {
    let descriptors = [descriptor];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::other("no room for a descriptor"));
    }
    sendmsg(connection, &[IoSlice::new(&[0])], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}
