//! The socket on which the agent calls, in the target's folder.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use agent_wire::{FromAgent, Hello, Inbox, Token};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, Gid, Uid, chownat, unlinkat};
use rustix::process::geteuid;

use crate::AgentError;
use crate::folder::Folder;
use crate::left_behind::{SOCKET_PREFIX, SOCKET_SUFFIX};

/// Longest path that fits into a socket address, without its final NUL.
const LONGEST_PATH: usize = 107;
/// Most callers that are listened to at once.
const MOST_CALLERS: usize = 8;
const WHAT: &str = "a socket for the agent";

/// The socket. Its file is removed when this is dropped.
pub(crate) struct Listener<'a> {
    folder: &'a Folder,
    name: String,
    socket: UnixListener,
}

/// A secret that nobody can guess.
pub(crate) fn fresh_token() -> Result<Token, AgentError> {
    let mut token = Token { agent: [0; 16], host: [0; 16] };
    File::open("/dev/urandom")
        .and_then(|mut source| {
            source.read_exact(&mut token.agent)?;
            source.read_exact(&mut token.host)
        })
        .map_err(|source| AgentError::System { what: "reading random bytes", source })?;
    Ok(token)
}

impl<'a> Listener<'a> {
    /// Opens a socket that the target's user can call, and nobody else.
    pub(crate) fn open(folder: &'a Folder) -> Result<Listener<'a>, AgentError> {
        let failed = folder.unwritable(WHAT);
        let mut number = [0; 8];
        File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut number)).map_err(&failed)?;
        let name = format!("{SOCKET_PREFIX}{:016x}{SOCKET_SUFFIX}", u64::from_le_bytes(number));
        if folder.path.as_os_str().len() + 1 + name.len() > LONGEST_PATH {
            return Err(AgentError::LongPath { folder: folder.path.clone() });
        }
        let socket = UnixListener::bind(folder.short_path(&name)).map_err(&failed)?;
        let listener = Listener { folder, name, socket };
        let make_private = || -> io::Result<()> {
            fs::set_permissions(folder.short_path(&listener.name), fs::Permissions::from_mode(0o600))?;
            if geteuid().as_raw() != folder.owner {
                let owner = Some(Uid::from_raw(folder.owner));
                chownat(&folder.opened, &listener.name, owner, None::<Gid>, AtFlags::SYMLINK_NOFOLLOW)?;
            }
            listener.socket.set_nonblocking(true)
        };
        make_private().map_err(&failed)?;
        Ok(listener)
    }

    /// The socket, as the target sees it.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path.join(&self.name)
    }

    /// Waits for the agent: the caller who knows the token. Everybody else is hung up on, and holds up nobody.
    pub(crate) fn accept(
        &self,
        token: &Token,
        patience: Duration,
    ) -> Result<(UnixStream, Inbox, Hello), AgentError> {
        let until = Instant::now() + patience;
        let mut callers: Vec<Caller> = Vec::new();
        loop {
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                return Err(AgentError::Silent { waited: patience });
            };
            wait_for_any(&self.socket, &callers, left);
            if let Ok((stream, _)) = self.socket.accept()
                && stream.set_nonblocking(true).is_ok()
            {
                // The longest waiting one has had its chance.
                if callers.len() == MOST_CALLERS {
                    callers.remove(0);
                }
                callers.push(Caller { stream, inbox: Inbox::default() });
            }
            for index in (0..callers.len()).rev() {
                match callers.get_mut(index).map(Caller::introduction) {
                    Some(Introduction::Hello(hello)) if hello.proof == token.agent => {
                        let Caller { stream, inbox } = callers.swap_remove(index);
                        let blocking = stream.set_nonblocking(false);
                        blocking.map_err(|source| AgentError::Lost { source })?;
                        return Ok((stream, inbox, hello));
                    }
                    Some(Introduction::Pending) => {}
                    _ => drop(callers.swap_remove(index)),
                }
            }
        }
    }
}

/// Somebody who has called and not yet said who it is.
struct Caller {
    stream: UnixStream,
    inbox: Inbox,
}

enum Introduction {
    Hello(Hello),
    Pending,
    Nonsense,
}

impl Caller {
    /// Its first words, as far as they are there.
    fn introduction(&mut self) -> Introduction {
        let mut buffer = [0; 256];
        loop {
            match self.inbox.message() {
                Ok(Some(FromAgent::Hello(hello))) => return Introduction::Hello(hello),
                Ok(None) => {}
                Ok(Some(_)) | Err(_) => return Introduction::Nonsense,
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return Introduction::Nonsense,
                Ok(length) => self.inbox.feed(buffer.get(..length).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Introduction::Pending,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Introduction::Nonsense,
            }
        }
    }
}

/// Waits until somebody calls or says something. An interruption is no matter: the caller looks at the clock.
fn wait_for_any(socket: &UnixListener, callers: &[Caller], left: Duration) {
    let left = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
    let mut handles = vec![PollFd::new(socket, PollFlags::IN)];
    handles.extend(callers.iter().map(|caller| PollFd::new(&caller.stream, PollFlags::IN)));
    let _ = poll(&mut handles, Some(&left));
}

impl Drop for Listener<'_> {
    fn drop(&mut self) {
        let _ = unlinkat(&self.folder.opened, &self.name, AtFlags::empty());
    }
}
