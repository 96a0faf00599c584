//! The diagnostic port: a socket that runtimes call.
//!
//! ```text
//! runtime --connect--> listener --34 bytes: who--> table by cookie --> Client takes the connection
//!    ^                                                                   | one command
//!    +------ reconnects at once for the next command <-------------------+
//! ```
//!
//! A runtime that was told to `suspend` waits until somebody resumes it, and its .NET children inherit that
//! setting. So each runtime that calls for the first time is either held for the caller or resumed on the spot
//! ([`Welcome`]): nobody hangs because nobody was interested.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use model::ProcessId;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Connection;
use super::sys::peer_pid;
use crate::reply::{self, ADVERTISE_SIZE};
use crate::{Advertise, Client, Command, Deadline, Guid, IpcError, Transport};

/// How long a caller may take to say who it is; the runtime says it at once, but the machine may be busy.
const ADVERTISE_TIME: Duration = Duration::from_secs(1);
/// How long a runtime may take to say that it goes on.
const RESUME_TIME: Duration = Duration::from_secs(5);
/// Pause when no call can be taken, for example because this process has too many files open.
const PAUSE: Duration = Duration::from_millis(10);
/// Most callers that may be saying who they are at one time.
const MOST_INTRODUCTIONS: usize = 64;
/// So many runtimes are remembered after their end; a build starts thousands.
const MOST_REMEMBERED: usize = 256;

/// What to do with a runtime that calls for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Welcome {
    /// Leave it suspended; the caller will resume it.
    Hold,
    /// Resume it at once.
    Resume,
}

/// A runtime that has called the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuntimeSeen {
    /// Unique for this run of the runtime.
    pub cookie: Guid,
    /// Pid as the process knows it: another one than ours when it is in a pid namespace of its own.
    pub pid: u64,
    /// Its pid in our namespace, as the kernel tells it; `None` when it cannot be seen from here.
    pub visible_pid: Option<ProcessId>,
    /// What was done with it.
    pub welcome: Welcome,
}

/// The value of `DOTNET_DiagnosticPorts` that makes runtimes call this path.
#[must_use]
pub fn diagnostic_ports_variable(path: &Path, suspend: bool) -> String {
    let mode = if suspend { "suspend" } else { "nosuspend" };
    format!("{},{mode},connect", path.display())
}

/// Serves a diagnostic port on a thread of its own until dropped.
pub struct PortServer {
    table: Arc<Table>,
    path: PathBuf,
    listener: Arc<UnixListener>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Table {
    callers: Mutex<Callers>,
    changed: Condvar,
    closing: AtomicBool,
    introductions: AtomicUsize,
}

#[derive(Default)]
struct Callers {
    seen: Vec<RuntimeSeen>,
    /// One connection of each living runtime. To close it would be no gain: the runtime would call again at once.
    idle: HashMap<Guid, Connection>,
    /// Runtimes that are to be resumed and have not said yet that they go on.
    suspended: HashSet<Guid>,
}

impl Table {
    fn callers(&self) -> MutexGuard<'_, Callers> {
        // The lists are consistent at every point, so a panic of another holder does not spoil them.
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, callers: MutexGuard<'a, Callers>, time: Duration) -> MutexGuard<'a, Callers> {
        self.changed.wait_timeout(callers, time).unwrap_or_else(PoisonError::into_inner).0
    }
}

impl PortServer {
    /// Listens at `path`, which must not exist yet. `welcome` decides over each runtime that calls for the
    /// first time; it runs on the server's threads and must not block.
    pub fn start(
        path: &Path,
        welcome: impl Fn(&Advertise) -> Welcome + Send + Sync + 'static,
    ) -> io::Result<PortServer> {
        let listener = Arc::new(UnixListener::bind(path)?);
        let own_listener = Arc::clone(&listener);
        let table = Arc::new(Table::default());
        let served = Arc::clone(&table);
        let welcome = Arc::new(welcome);
        let thread = std::thread::Builder::new().name("diagnostic-port".into()).spawn(move || {
            for connection in listener.incoming() {
                if served.closing.load(Ordering::Acquire) {
                    break;
                }
                let Ok(connection) = connection else {
                    std::thread::sleep(PAUSE);
                    continue;
                };
                // On a thread of its own, so that a silent caller keeps nobody waiting.
                if served.introductions.fetch_add(1, Ordering::AcqRel) >= MOST_INTRODUCTIONS {
                    served.introductions.fetch_sub(1, Ordering::AcqRel);
                    continue;
                }
                let (table, welcome) = (Arc::clone(&served), Arc::clone(&welcome));
                let introduction = std::thread::Builder::new().name("diagnostic-port-caller".into()).spawn({
                    let table = Arc::clone(&table);
                    move || {
                        table.introduce(connection, welcome.as_ref());
                        table.introductions.fetch_sub(1, Ordering::AcqRel);
                    }
                });
                if introduction.is_err() {
                    table.introductions.fetch_sub(1, Ordering::AcqRel);
                }
            }
        })?;
        Ok(PortServer { table, path: path.to_owned(), listener: own_listener, thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The runtimes that have called so far, in order. Of those that were resumed at once and have ended, the
    /// oldest are forgotten when there are many.
    #[must_use]
    pub fn runtimes(&self) -> Vec<RuntimeSeen> {
        self.table.callers().seen.clone()
    }

    /// Waits for a runtime that `wanted` accepts.
    pub fn wait_for(
        &self,
        deadline: &Deadline,
        wanted: impl Fn(&RuntimeSeen) -> bool,
    ) -> Option<RuntimeSeen> {
        let mut callers = self.table.callers();
        loop {
            if let Some(found) = callers.seen.iter().find(|runtime| wanted(runtime)) {
                return Some(*found);
            }
            callers = self.table.wait(callers, deadline.left()?);
        }
    }

    /// A client for a runtime that has called. Its commands wait for the runtime's next call.
    #[must_use]
    pub fn client(&self, cookie: Guid) -> Client {
        Client::new(CalledBack { table: Arc::clone(&self.table), cookie })
    }
}

impl Drop for PortServer {
    fn drop(&mut self) {
        self.table.closing.store(true, Ordering::Release);
        // The thread waits in accept; this wakes it, also when somebody has removed the socket's file.
        let _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Table {
    fn introduce(&self, mut connection: Connection, welcome: &(impl Fn(&Advertise) -> Welcome + ?Sized)) {
        let Some(caller) = who_calls(&mut connection) else { return };
        let visible_pid = caller_pid(&connection);
        let mut callers = self.callers();
        callers.let_go_of_ended();
        if !callers.seen.iter().any(|runtime| runtime.cookie == caller.cookie) {
            let welcome = welcome(&caller);
            let seen = RuntimeSeen { cookie: caller.cookie, pid: caller.pid, visible_pid, welcome };
            callers.seen.push(seen);
            if welcome == Welcome::Resume {
                callers.suspended.insert(caller.cookie);
            }
        }
        self.changed.notify_all();
        if !callers.suspended.contains(&caller.cookie) {
            callers.idle.insert(caller.cookie, connection);
            return;
        }
        drop(callers);
        // A runtime that fails to answer calls again, if it lives, and is resumed then.
        let once = Client::new(Once(Mutex::new(Some(connection)))).with_timeout(RESUME_TIME);
        if once.resume_runtime().is_ok() {
            self.callers().suspended.remove(&caller.cookie);
        }
    }
}

impl Callers {
    /// Closes the connections of runtimes that have ended, and forgets the oldest of those when there are many.
    fn let_go_of_ended(&mut self) {
        self.idle.retain(|_, connection| !has_hung_up(connection));
        let mut too_many = self.seen.len().saturating_sub(MOST_REMEMBERED - 1);
        let Callers { seen, idle, suspended } = self;
        seen.retain(|runtime| {
            // Whoever holds a runtime may be in the middle of a command, and then its connection is not here. If
            // another one is in the middle of its resumption, it is just welcomed once more.
            let forget =
                too_many > 0 && runtime.welcome == Welcome::Resume && !idle.contains_key(&runtime.cookie);
            if forget {
                too_many -= 1;
                suspended.remove(&runtime.cookie);
            }
            !forget
        });
    }
}

fn has_hung_up(connection: &Connection) -> bool {
    // A hang-up is told without being asked for.
    let mut state = [PollFd::new(connection, PollFlags::empty())];
    let told = poll(&mut state, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    told.is_ok() && state.iter().any(|state| state.revents().intersects(PollFlags::HUP | PollFlags::ERR))
}

fn caller_pid(connection: &Connection) -> Option<ProcessId> {
    let pid = peer_pid(connection.as_fd()).ok()?;
    u32::try_from(pid).ok().filter(|&pid| pid != 0).map(ProcessId)
}

/// Reads who calls, in a time that dripping bytes cannot stretch.
fn who_calls(connection: &mut Connection) -> Option<Advertise> {
    let deadline = Deadline::after(ADVERTISE_TIME);
    let mut bytes = [0; ADVERTISE_SIZE];
    let mut filled = 0;
    while let Some(rest @ [_, ..]) = bytes.get_mut(filled..) {
        connection.set_read_timeout(Some(deadline.left()?)).ok()?;
        match connection.read(rest) {
            Ok(0) => return None,
            Ok(received) => filled += received,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    reply::advertise(&bytes).ok()
}

/// The connections of one runtime that calls us.
struct CalledBack {
    table: Arc<Table>,
    cookie: Guid,
}

impl Transport for CalledBack {
    fn connect(&self, deadline: &Deadline) -> Result<Connection, IpcError> {
        let mut callers = self.table.callers();
        loop {
            if let Some(connection) = callers.idle.remove(&self.cookie) {
                return Ok(connection);
            }
            let Some(left) = deadline.left() else {
                let source = io::Error::new(io::ErrorKind::TimedOut, "the runtime did not call back");
                return Err(IpcError::Connect { address: format!("runtime {}", self.cookie), source });
            };
            callers = self.table.wait(callers, left);
        }
    }
}

/// A connection that is there already, for a single command.
struct Once(Mutex<Option<Connection>>);

impl Transport for Once {
    fn connect(&self, deadline: &Deadline) -> Result<Connection, IpcError> {
        let gone = IpcError::NoAnswer { command: Command::ResumeRuntime, waited: deadline.waited() };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or(gone)
    }
}
