//! The way in.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use agent_wire::{Attach, Fault, FromHost, Message, VERSION, class_id};
use diagnostics_ipc::{AttachRequest, Client, Guid, HResult, IpcError};
use model::ProcessId;
use process_view::Process;

use crate::AgentError;
use crate::attached::Attached;
use crate::error::FOLDER_SETTING;
use crate::folder::Folder;
use crate::left_behind::{self, LIBRARY_PREFIX};
use crate::library::{LIBRARY, library_name};
use crate::listen::{Listener, fresh_token};
use crate::place::Placed;
use crate::running;
use crate::suits;

/// How long the runtime may wait for a collection to end; an agent that asks for no events never waits.
const RUNTIME_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the agent may take from being loaded to calling, for each attempt. A runtime (6 to 10) in which a main profiler
/// was detached counts its notification profilers one too low and overlooks the next one; that one is loaded, does nothing
/// and stays. With it the count is right again, so the second attempt works.
const FIRST_CALLS: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(5)];
/// How long a place may stay taken by an agent that is just leaving, which takes a third of a second.
const LEAVING: Duration = Duration::from_millis(1500);
/// The same where it can be seen that one is leaving: on a machine where threads run late it gives the runtime up to five
/// seconds, and the runtime may look twice.
const LONG_LEAVING: Duration = Duration::from_secs(12);
/// The name of the agent's thread.
const AGENT_THREAD: &str = "drdotnet-agent";
/// Pause between two attempts meanwhile.
const AGAIN: Duration = Duration::from_millis(25);

/// How the agent is to come, and how long it may stay.
#[derive(Clone, Debug)]
pub struct Options {
    /// A folder of the target for the library and the socket; its temp folder unless said.
    pub folder: Option<PathBuf>,
    /// When it leaves by itself, whatever happens.
    pub stay: Duration,
    /// A fault that the agent is to have, for tests.
    pub fault: Option<Fault>,
}

impl Default for Options {
    /// The target's temp folder or what `DRDOTNET_AGENT_FOLDER` names; ten minutes.
    fn default() -> Self {
        Options {
            folder: std::env::var_os(FOLDER_SETTING).filter(|name| !name.is_empty()).map(PathBuf::from),
            stay: Duration::from_secs(600),
            fault: None,
        }
    }
}

/// Loads the agent into a process and greets it.
pub fn attach(pid: ProcessId, client: &Client, options: &Options) -> Result<Attached, AgentError> {
    let process = Process::new(pid);
    running::check(&process)?;
    respect_owner(&process)?;
    suits::check(&process)?;
    let folder = Folder::of(&process, options.folder.as_deref())?;
    left_behind::remove(&folder);
    let mut outcome = Err(AgentError::Silent { waited: Duration::ZERO });
    for patience in FIRST_CALLS {
        outcome = attempt(&process, client, &folder, options, patience);
        if !matches!(outcome, Err(AgentError::Silent { .. })) {
            break;
        }
    }
    outcome.map_err(|error| running::explain(&process, error))
}

fn attempt(
    process: &Process,
    client: &Client,
    folder: &Folder,
    options: &Options,
    patience: Duration,
) -> Result<Attached, AgentError> {
    let listener = Listener::open(folder)?;
    let library = Placed::new(folder, library_name(), LIBRARY)?;
    let token = fresh_token()?;
    let orders = Attach { token, stay: options.stay, socket: text(&listener.path(), folder)? };
    let request = AttachRequest {
        timeout: RUNTIME_TIMEOUT,
        class: Guid(class_id(options.fault)),
        path: text(&library.path(), folder)?,
        data: orders.encode(),
    };
    load(process, client, &request)?;
    let (mut stream, inbox, hello) = listener.accept(&token, patience)?;
    if hello.version != VERSION {
        return Err(AgentError::Version { theirs: hello.version, ours: VERSION });
    }
    let welcome = FromHost::Welcome(token.host).encode();
    stream.write_all(&welcome).map_err(|source| AgentError::Lost { source })?;
    Ok(Attached::new(stream, inbox, hello))
}

/// The runtime looks at this setting only when it starts.
fn respect_owner(process: &Process) -> Result<(), AgentError> {
    let off = process.environment()?.into_iter().find(|(name, value)| {
        let value = value.trim().trim_start_matches("0x");
        name.to_ascii_lowercase().ends_with("_enablediagnostics_profiler")
            && !value.is_empty()
            && value.bytes().all(|digit| digit == b'0')
    });
    match off {
        Some((name, value)) => Err(AgentError::SwitchedOff { variable: format!("{name}={value}") }),
        None => Ok(()),
    }
}

fn text(path: &std::path::Path, folder: &Folder) -> Result<String, AgentError> {
    let wrong = || std::io::Error::new(std::io::ErrorKind::InvalidInput, "its name is not UTF-8");
    let text = path.to_str().ok_or_else(wrong);
    text.map(str::to_owned).map_err(|source| AgentError::NoFolder { folder: folder.path.clone(), source })
}

fn load(process: &Process, client: &Client, request: &AttachRequest) -> Result<(), AgentError> {
    let began = Instant::now();
    let mut was_here = None;
    loop {
        let error = match client.attach_profiler(request) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        match error {
            IpcError::Refused { code: HResult::PROFILER_ALREADY_ACTIVE, .. } => {
                // An agent whose thread has ended: the runtime is about to let go of it, or has.
                let is_leaving =
                    *was_here.get_or_insert_with(|| has_library(process)) && !has_agent_thread(process);
                let patience = if is_leaving { LONG_LEAVING } else { LEAVING };
                if began.elapsed() > patience {
                    return Err(AgentError::Taken);
                }
                std::thread::sleep(AGAIN);
            }
            IpcError::Refused { code, .. } => {
                return Err(AgentError::NotLoaded { path: request.path.clone().into(), code });
            }
            error => return Err(error.into()),
        }
    }
}

fn has_library(process: &Process) -> bool {
    let maps = std::fs::read(format!("/proc/{}/maps", process.id)).unwrap_or_default();
    maps.windows(LIBRARY_PREFIX.len()).any(|part| part == LIBRARY_PREFIX.as_bytes())
}

fn has_agent_thread(process: &Process) -> bool {
    let tasks = process.tasks().unwrap_or_default();
    tasks.iter().any(|task| task.name().is_ok_and(|name| name == AGENT_THREAD))
}
