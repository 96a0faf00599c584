//! The client: one connection, one command, one reply, before the deadline.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use crate::command::{AttachRequest, DumpOptions, Guid, PerfMapKind};
use crate::message::{self, HEADER_SIZE, Header, ReplyKind};
use crate::quiet::Quiet;
use crate::reply::{self, ProcessInfo, ProcessInfoVersion};
use crate::trace::{self, Granted, SessionId, TraceRequest, UserEventsProvider};
use crate::unix::{Connection, TraceStream, send_descriptor};
use crate::wire::{Damage, Writer};
use crate::{Command, Deadline, HResult, IpcError};

/// How long a command may take unless the caller says otherwise.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest environment that is read: far above what an operating system allows a process to have.
const MAX_ENVIRONMENT: usize = 8 << 20;

/// A way to get a connection to one runtime.
pub trait Transport: Send + Sync {
    /// A fresh connection, on which one command may be sent.
    fn connect(&self, deadline: &Deadline) -> Result<Connection, IpcError>;

    /// What all clients over it share; one client's own unless it says otherwise.
    fn quiet(&self) -> Arc<Quiet> {
        Arc::default()
    }
}

/// Sends commands to one runtime. Cheap to clone; may be used from several threads.
#[derive(Clone)]
pub struct Client {
    transport: Arc<dyn Transport>,
    timeout: Duration,
    quiet: Arc<Quiet>,
}

impl Client {
    /// A client over a transport, with a timeout of ten seconds per command.
    pub fn new(transport: impl Transport + 'static) -> Self {
        let quiet = transport.quiet();
        Client { transport: Arc::new(transport), timeout: DEFAULT_TIMEOUT, quiet }
    }

    /// When its runtime was last heard not to unload code.
    #[must_use]
    pub fn quiet(&self) -> &Quiet {
        &self.quiet
    }

    /// The same client with another timeout per command.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// What the process is, in the newest form the runtime knows. .NET Core 3.1 knows none and refuses.
    pub fn process_info(&self) -> Result<ProcessInfo, IpcError> {
        let forms = [
            (Command::ProcessInfo3, ProcessInfoVersion::V3),
            (Command::ProcessInfo2, ProcessInfoVersion::V2),
            (Command::ProcessInfo, ProcessInfoVersion::V1),
        ];
        let deadline = Deadline::after(self.timeout);
        self.step_down(forms, |(command, version)| {
            let (payload, _) = self.exchange(command, &[], &deadline)?;
            reply::process_info(version, &payload).map_err(|damage| malformed(command, damage))
        })
    }

    /// The environment of the process as the runtime sees it (6).
    pub fn environment(&self) -> Result<Vec<(String, String)>, IpcError> {
        let command = Command::ProcessEnvironment;
        let deadline = Deadline::after(self.timeout);
        let (payload, mut connection) = self.exchange(command, &[], &deadline)?;
        let size = reply::environment_size(&payload).map_err(|damage| malformed(command, damage))?;
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if size > MAX_ENVIRONMENT {
            return Err(malformed(command, Damage { problem: "size of the environment", offset: 0 }));
        }
        // Grows with what arrives, not with what was promised.
        let mut bytes = Vec::new();
        while bytes.len() < size {
            let mut chunk = [0; 16 * 1024];
            let wanted = chunk.len().min(size - bytes.len());
            let received = read_some(&mut connection, &mut chunk[..wanted], command, &deadline, bytes.len())?;
            if received == 0 {
                return Err(IpcError::Closed { command, received: bytes.len() });
            }
            bytes.extend_from_slice(&chunk[..received]);
        }
        reply::environment(&bytes).map_err(|damage| malformed(command, damage))
    }

    /// Sets a variable in the environment of the process (6). Meant for the time before it runs.
    pub fn set_environment_variable(&self, name: &str, value: &str) -> Result<(), IpcError> {
        let mut writer = Writer::default();
        writer.string(name).string(value);
        self.order(Command::SetEnvironmentVariable, &writer.bytes)
    }

    /// Lets a process go on that was suspended at its start (5).
    pub fn resume_runtime(&self) -> Result<(), IpcError> {
        self.order(Command::ResumeRuntime, &[])
    }

    /// Loads a profiler library into the running process (3.0).
    pub fn attach_profiler(&self, request: &AttachRequest) -> Result<(), IpcError> {
        let command = Command::AttachProfiler;
        // The runtime may use its whole timeout before it answers.
        let deadline = Deadline::after(self.timeout.saturating_add(request.timeout));
        let (payload, _) = self.exchange(command, &request.payload(), &deadline)?;
        check_status(command, &payload)
    }

    /// Names a profiler for a process that is suspended at its start (6). A runtime that runs already
    /// (8, 9, 10) answers with success as well, so success does not mean that it was loaded.
    pub fn startup_profiler(&self, class: Guid, path: &str) -> Result<(), IpcError> {
        let mut writer = Writer::default();
        writer.guid(class).string(path);
        self.order(Command::StartupProfiler, &writer.bytes)
    }

    /// Makes the runtime write the files by which `perf` names managed code (8): `perf-PID.map` and the like in
    /// the target's `/tmp`, whatever its `TMPDIR`, with PID as the target knows it. They stay behind.
    pub fn enable_perf_map(&self, kind: PerfMapKind) -> Result<(), IpcError> {
        let mut writer = Writer::default();
        writer.u32(kind as u32);
        self.order(Command::EnablePerfMap, &writer.bytes)
    }

    /// Ends what [`Client::enable_perf_map`] began (8).
    pub fn disable_perf_map(&self) -> Result<(), IpcError> {
        self.order(Command::DisablePerfMap, &[])
    }

    /// Runs the start-up hook of an assembly in the process (8).
    ///
    /// Be sure of the path: .NET 9 *ends the process* when the assembly cannot be loaded.
    pub fn apply_startup_hook(&self, path: &str) -> Result<(), IpcError> {
        let mut writer = Writer::default();
        writer.string(path);
        self.order(Command::ApplyStartupHook, &writer.bytes)
    }

    /// Makes the target write a core dump, waiting at most `timeout` for it. Returns the command that did it.
    ///
    /// Look whether the file is there: a single-file .NET 8 without the program `createdump` was seen to report
    /// success and write nothing. It, and a 3.1 that may not run its `createdump`, left a forked copy of the
    /// process behind.
    pub fn generate_core_dump(&self, options: &DumpOptions, timeout: Duration) -> Result<Command, IpcError> {
        let forms = [Command::GenerateCoreDump3, Command::GenerateCoreDump2, Command::GenerateCoreDump];
        let deadline = Deadline::after(timeout);
        self.step_down(forms, |command| {
            let (payload, _) = self.exchange(command, &options.payload(command), &deadline)?;
            check_status(command, &payload).map(|()| command)
        })
    }

    /// Starts a tracing session; its events arrive on the stream until the session is stopped or the process
    /// ends. The stream must be read all the time, also while [`Client::stop_tracing`] waits for its answer.
    ///
    /// Ask only a 3.1 that answers other commands: it crashes over a session whose client is gone, be it that the
    /// client gave up waiting for this answer or that it was killed.
    pub fn collect_tracing(&self, request: &TraceRequest) -> Result<(TraceStream, Granted), IpcError> {
        let deadline = Deadline::after(self.timeout);
        self.step_down(request.attempts(), |attempt| {
            let command = attempt.command;
            let (payload, connection) = self.exchange(command, &request.payload(command), &deadline)?;
            let session = reply::session_id(&payload).map_err(|damage| malformed(command, damage))?;
            Ok((TraceStream::new(session, connection, self.clone()), attempt))
        })
    }

    /// Starts a session whose events go to the kernel's user events (10). `user_events` is an open
    /// `user_events_data` file of tracefs.
    pub fn collect_user_events(
        &self,
        rundown_keywords: u64,
        providers: &[UserEventsProvider],
        user_events: BorrowedFd<'_>,
    ) -> Result<TraceStream, IpcError> {
        let command = Command::CollectTracing5;
        let deadline = Deadline::after(self.timeout);
        let payload = trace::user_events_payload(rundown_keywords, providers);
        let mut connection = self.transport.connect(&deadline)?;
        send(&mut connection, command, &payload, &deadline)?;
        // The runtime takes the descriptor off the stream before it answers. One that does not know the command
        // answers and closes at once; then the answer is what counts.
        if let Err(source) = send_descriptor(&connection, user_events)
            && source.kind() != ErrorKind::BrokenPipe
        {
            return Err(IpcError::Io { command, source });
        }
        let payload = receive(&mut connection, command, &deadline)?;
        let session = reply::session_id(&payload).map_err(|damage| malformed(command, damage))?;
        Ok(TraceStream::new(session, connection, self.clone()))
    }

    /// Ends a tracing session. The answer comes after the last event was written.
    pub fn stop_tracing(&self, session: SessionId) -> Result<(), IpcError> {
        let mut writer = Writer::default();
        writer.u64(session.0);
        let command = Command::StopTracing;
        let (payload, _) = self.exchange(command, &writer.bytes, &Deadline::after(self.timeout))?;
        reply::session_id(&payload).map(|_| ()).map_err(|damage| malformed(command, damage))
    }

    /// A command whose answer is only a result code.
    fn order(&self, command: Command, payload: &[u8]) -> Result<(), IpcError> {
        let (payload, _) = self.exchange(command, payload, &Deadline::after(self.timeout))?;
        check_status(command, &payload)
    }

    /// Tries each form until the runtime knows one.
    fn step_down<F, T>(
        &self,
        forms: impl IntoIterator<Item = F>,
        mut attempt: impl FnMut(F) -> Result<T, IpcError>,
    ) -> Result<T, IpcError> {
        let mut forms = forms.into_iter().peekable();
        while let Some(form) = forms.next() {
            match attempt(form) {
                Err(error) if error.is_unknown_command() && forms.peek().is_some() => {}
                outcome => return outcome,
            }
        }
        unreachable!("every caller has at least one form")
    }

    fn exchange(
        &self,
        command: Command,
        payload: &[u8],
        deadline: &Deadline,
    ) -> Result<(Vec<u8>, Connection), IpcError> {
        let mut connection = self.transport.connect(deadline)?;
        send(&mut connection, command, payload, deadline)?;
        let reply = receive(&mut connection, command, deadline)?;
        Ok((reply, connection))
    }
}

fn send(
    connection: &mut Connection,
    command: Command,
    payload: &[u8],
    deadline: &Deadline,
) -> Result<(), IpcError> {
    let bytes = message::request(command, payload)?;
    let left = deadline.left().ok_or(IpcError::NoAnswer { command, waited: deadline.waited() })?;
    connection
        .set_write_timeout(Some(left))
        .and_then(|()| connection.write_all(&bytes))
        .map_err(|source| io_error(command, source, deadline, 0))
}

fn receive(connection: &mut Connection, command: Command, deadline: &Deadline) -> Result<Vec<u8>, IpcError> {
    let mut head = [0; HEADER_SIZE];
    read_all(connection, &mut head, command, deadline, 0)?;
    let header = Header::parse(&head).map_err(|damage| malformed(command, damage))?;
    let mut payload = vec![0; header.payload];
    read_all(connection, &mut payload, command, deadline, HEADER_SIZE)?;
    match header.kind {
        ReplyKind::Ok => Ok(payload),
        ReplyKind::Error => {
            let (code, detail) = reply::error_reply(&payload).map_err(|damage| malformed(command, damage))?;
            Err(IpcError::Refused { command, code, detail })
        }
    }
}

fn read_all(
    connection: &mut Connection,
    buffer: &mut [u8],
    command: Command,
    deadline: &Deadline,
    before: usize,
) -> Result<(), IpcError> {
    let mut filled = 0;
    while let Some(rest @ [_, ..]) = buffer.get_mut(filled..) {
        match read_some(connection, rest, command, deadline, before + filled)? {
            0 => return Err(IpcError::Closed { command, received: before + filled }),
            received => filled += received,
        }
    }
    Ok(())
}

/// One read that ends by the deadline, however slowly the bytes drip.
fn read_some(
    connection: &mut Connection,
    buffer: &mut [u8],
    command: Command,
    deadline: &Deadline,
    before: usize,
) -> Result<usize, IpcError> {
    loop {
        let left = deadline.left().ok_or(IpcError::NoAnswer { command, waited: deadline.waited() })?;
        match connection.set_read_timeout(Some(left)).and_then(|()| connection.read(buffer)) {
            Ok(received) => return Ok(received),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(io_error(command, error, deadline, before)),
        }
    }
}

fn io_error(command: Command, source: std::io::Error, deadline: &Deadline, received: usize) -> IpcError {
    match source.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            IpcError::NoAnswer { command, waited: deadline.waited() }
        }
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => IpcError::Closed { command, received },
        _ => IpcError::Io { command, source },
    }
}

fn check_status(command: Command, payload: &[u8]) -> Result<(), IpcError> {
    let code: HResult = reply::status(payload).map_err(|damage| malformed(command, damage))?;
    if code.is_success() { Ok(()) } else { Err(IpcError::Refused { command, code, detail: None }) }
}

fn malformed(command: Command, damage: Damage) -> IpcError {
    IpcError::Malformed { command, problem: damage.problem, offset: damage.offset }
}
