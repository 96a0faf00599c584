//! Connecting to the runtime's socket.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, IoSlice, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use model::ProcessId;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags,
    SocketType, connect, sendmsg, socket_with,
};

use super::Connection;
use super::sys::peer_pid;
use crate::{Deadline, IpcError, SessionId, Transport};

/// Longest path that fits into a socket address, without its final NUL.
const LONGEST_PATH: usize = 107;
/// Pause before connecting again to a runtime whose queue of connections is full.
const RETRY: Duration = Duration::from_millis(10);

/// Where a runtime listens.
#[derive(Clone, Debug)]
pub struct Endpoint {
    place: Place,
    shown: PathBuf,
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
        Endpoint { place: Place::Path(path.clone()), shown: path }
    }

    /// The socket of that name in an open folder; `shown` is the path to print.
    pub fn in_folder(folder: Arc<File>, name: impl Into<OsString>, shown: impl Into<PathBuf>) -> Self {
        Endpoint { place: Place::InFolder(folder, name.into()), shown: shown.into() }
    }

    /// The path to print.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shown
    }

    /// Connects, and tells which process listens there: its pid in our namespace, or `None` when it lies in a
    /// namespace that we do not see.
    pub fn listener(&self, timeout: Duration) -> Result<Option<ProcessId>, IpcError> {
        let connection = self.connect(&Deadline::after(timeout))?;
        let pid = peer_pid(connection.as_fd()).map_err(|error| self.failed(error))?;
        Ok(u32::try_from(pid).ok().filter(|&pid| pid != 0).map(ProcessId))
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
        match &self.place {
            Place::Path(path) if path.as_os_str().as_bytes().len() <= LONGEST_PATH => {
                self.connect_short(path, deadline)
            }
            Place::Path(path) => {
                let name = path.file_name().unwrap_or(OsStr::new(""));
                let parent = path.parent().unwrap_or(Path::new("/"));
                let folder = File::open(parent).map_err(|error| self.failed(error))?;
                self.connect_short(&through_descriptor(&folder, name), deadline)
            }
            Place::InFolder(folder, name) => self.connect_short(&through_descriptor(folder, name), deadline),
        }
    }
}

/// A path of a few bytes to a file in an open folder.
fn through_descriptor(folder: &File, name: &OsStr) -> PathBuf {
    Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name)
}

/// The events of a tracing session, as the runtime writes them.
#[derive(Debug)]
pub struct TraceStream {
    /// The session, for [`crate::Client::stop_tracing`].
    pub session: SessionId,
    connection: Connection,
}

impl TraceStream {
    pub(crate) fn new(session: SessionId, connection: Connection) -> Self {
        // The reader waits for events as long as it likes; timeouts were for the command.
        let _ = connection.set_read_timeout(None);
        TraceStream { session, connection }
    }

    /// Makes a read that finds no byte for this long end with `WouldBlock`; `None` waits for ever.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.connection.set_read_timeout(timeout)
    }
}

impl Read for TraceStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.connection.read(buffer)
    }
}

impl AsFd for TraceStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.connection.as_fd()
    }
}

impl From<TraceStream> for OwnedFd {
    fn from(stream: TraceStream) -> OwnedFd {
        stream.connection.into()
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
