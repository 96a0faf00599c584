//! The socket on which the agent calls, in the target's folder.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use agent_wire::{FromAgent, Hello, Inbox, Token};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, Gid, Uid, chownat, unlinkat};
use rustix::process::geteuid;

use crate::AgentError;
use crate::folder::Folder;

/// Longest path that fits into a socket address, without its final NUL.
const LONGEST_PATH: usize = 107;
/// Most callers that are listened to at once.
const MOST_CALLERS: usize = 8;
/// A socket that nobody answers at is removed when it is older than this: a younger one may be about to listen.
const LEFT_BEHIND: Duration = Duration::from_secs(60);
const WHAT: &str = "a socket for the agent";
const PREFIX: &str = "drdotnet-";
const SUFFIX: &str = ".sock";

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
        remove_left_behind(folder);
        let mut number = [0; 8];
        File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut number)).map_err(&failed)?;
        let name = format!("{PREFIX}{:016x}{SUFFIX}", u64::from_le_bytes(number));
        if folder.path.as_os_str().len() + 1 + name.len() > LONGEST_PATH {
            return Err(AgentError::LongPath { folder: folder.path.clone() });
        }
        let socket = UnixListener::bind(through(folder, &name)).map_err(&failed)?;
        let listener = Listener { folder, name, socket };
        let make_private = || -> io::Result<()> {
            fs::set_permissions(through(folder, &listener.name), fs::Permissions::from_mode(0o600))?;
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

/// A path of a few bytes to a file in the folder, whatever the folder's path.
fn through(folder: &Folder, name: &str) -> PathBuf {
    Path::new("/proc/self/fd").join(folder.opened.as_raw_fd().to_string()).join(name)
}

/// Removes sockets of hosts that were killed before they could do it.
fn remove_left_behind(folder: &Folder) {
    let Ok(entries) = fs::read_dir(through(folder, ".")) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        if !ours {
            continue;
        }
        let Ok(about) = fs::symlink_metadata(entry.path()) else { continue };
        let old = about.modified().ok().and_then(|then| SystemTime::now().duration_since(then).ok());
        if about.file_type().is_socket()
            && about.uid() == folder.owner
            && old.is_some_and(|age| age > LEFT_BEHIND)
            && UnixStream::connect(entry.path())
                .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
        {
            let _ = unlinkat(&folder.opened, name, AtFlags::empty());
        }
    }
}
