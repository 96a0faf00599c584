//! Every command against real runtimes: 3.1, 8 and 9 run a patient, 10 runs a program that is not ours.

mod support;

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use diagnostics_ipc::{
    AttachRequest, BufferingMode, Client, Command, DumpKind, DumpOptions, Endpoint, EventFilter, Feature,
    Granted, Guid, HEADER_SIZE, HResult, IpcError, Level, MAX_PAYLOAD, PerfMapKind, Provider, Rundown,
    SessionId, TraceRequest, Tracepoints, UserEventsProvider,
};
use model::ProcessId;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
use support::{LONG, QUIET, wait_until};
use tempfile::TempDir;
use testbed::{Runtime, Target, shared};

const RUNTIME_PROVIDER: &str = "Microsoft-Windows-DotNETRuntime";
/// Garbage collections: few events, none of them at a fixed time.
const GC_KEYWORD: u64 = 1;
/// A class id that no profiler has.
const NO_CLASS: Guid = Guid(0x5ca1_ab1e_0000_4000_8000_0000_0000_0001);

/// Every runtime, oldest first.
const EVERY: [Runtime; 4] = [Runtime::Net31, Runtime::Net8, Runtime::Net9, Runtime::Net10];

/// A healthy target with a temp folder of its own.
struct Subject {
    client: Client,
    endpoint: Endpoint,
    target: Target,
    // Removed last: the target's socket lies in it.
    folder: TempDir,
}

impl Subject {
    /// The patient on 3.1, 8 and 9, the stranger on 10.
    fn start(runtime: Runtime) -> Subject {
        let folder = tempfile::tempdir().expect("a temp folder");
        let builder = match runtime {
            Runtime::Net10 => shared().stranger(),
            _ => shared().target(QUIET, runtime),
        };
        let builder = builder.tmpdir(folder.path()).env("DRDOTNET_TEST", "a value=with an equals sign");
        let target = builder.start().expect("the target starts");
        let endpoint = Endpoint::at(socket_in(folder.path()).expect("the runtime has made its socket"));
        let client = Client::new(endpoint.clone()).with_timeout(LONG);
        Subject { client, endpoint, target, folder }
    }

    /// Asserts that the target lives and answers, and has said nothing about us.
    fn assert_healthy(&self) {
        let runtime = self.target.runtime();
        assert!(self.target.is_alive(), "{runtime}: {}", self.target.stderr_text());
        match self.client.process_info() {
            Ok(_) => {}
            Err(error) if runtime == Runtime::Net31 && error.is_unknown_command() => {}
            Err(error) => panic!("{runtime}: {error}"),
        }
    }
}

/// The one socket of a runtime in a folder.
fn socket_in(folder: &Path) -> Option<PathBuf> {
    let names = std::fs::read_dir(folder).expect("the folder can be read").flatten();
    names.map(|entry| entry.path()).find(|path| path.to_string_lossy().ends_with("-socket"))
}

fn runtime_events() -> TraceRequest {
    TraceRequest::new(16, vec![Provider::new(RUNTIME_PROVIDER, GC_KEYWORD, Level::Informational)])
}

/// Runs a session until its first bytes have come, stops it, and returns everything that was sent.
fn trace(client: &Client, request: &TraceRequest) -> (Granted, Vec<u8>) {
    let (mut stream, granted) = client.collect_tracing(request).expect("a session");
    let session = stream.session;
    stream.set_read_timeout(Some(LONG)).expect("a timeout can be set");
    let arrived = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&arrived);
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut chunk = [0; 4096];
        loop {
            match stream.read(&mut chunk).expect("the stream goes on or ends") {
                0 => return bytes,
                count => bytes.extend_from_slice(&chunk[..count]),
            }
            counted.store(bytes.len(), Ordering::Release);
        }
    });
    wait_until("the stream has begun", || arrived.load(Ordering::Acquire) >= b"Nettrace".len());
    client.stop_tracing(session).expect("the session stops");
    (granted, reader.join().expect("the stream ends after the session"))
}

fn refusal(outcome: Result<(), IpcError>) -> HResult {
    match outcome {
        Err(IpcError::Refused { code, .. }) => code,
        other => panic!("not a refusal: {other:?}"),
    }
}

#[test]
fn process_information_tells_what_the_process_is() {
    for runtime in EVERY {
        let subject = Subject::start(runtime);
        let info = subject.client.process_info();
        if runtime == Runtime::Net31 {
            assert!(info.as_ref().is_err_and(IpcError::is_unknown_command), "{info:?}");
            continue;
        }
        let info = info.unwrap();
        assert_eq!(info.pid, u64::from(subject.target.pid()));
        assert_ne!(info.cookie, Guid(0));
        assert_eq!((info.operating_system.as_str(), info.architecture.as_str()), ("Linux", "x64"));
        let (assembly, word) = match runtime {
            Runtime::Net8 => ("Sarif.Multitool", "--version"),
            Runtime::Net10 => ("azmcp", "server start"),
            _ => ("Patients", QUIET),
        };
        assert!(info.command_line.contains(word), "{runtime}: {}", info.command_line);
        if runtime != Runtime::Net8 || info.entry_assembly.is_some() {
            assert_eq!(info.entry_assembly.as_deref(), Some(assembly), "{runtime}");
        }
        let version = info.runtime_version.unwrap();
        assert!(version.starts_with(&format!("{}.", runtime.label())), "{runtime}: {version}");
        assert_eq!(info.runtime_identifier.as_deref(), Some("linux-x64"), "{runtime}");
    }
}

#[test]
fn the_environment_is_told_since_net_6() {
    for runtime in EVERY {
        let subject = Subject::start(runtime);
        match subject.client.environment() {
            Ok(variables) => {
                assert_ne!(runtime, Runtime::Net31);
                let value = variables.iter().find(|(name, _)| name == "DRDOTNET_TEST");
                assert_eq!(value.unwrap().1, "a value=with an equals sign", "{runtime}");
                assert!(variables.iter().any(|(name, _)| name == "TMPDIR"), "{runtime}");
            }
            Err(error) => {
                assert_eq!(runtime, Runtime::Net31, "{error}");
                assert!(error.is_unknown_command(), "{error}");
            }
        }
    }
}

#[test]
fn a_variable_that_is_set_is_told_afterwards() {
    for runtime in [Runtime::Net8, Runtime::Net9, Runtime::Net10] {
        let subject = Subject::start(runtime);
        subject.client.set_environment_variable("DRDOTNET_LATE", "set by a tool").unwrap();
        let variables = subject.client.environment().unwrap();
        let late = variables.iter().find(|(name, _)| name == "DRDOTNET_LATE");
        assert_eq!(late.map(|(_, value)| value.as_str()), Some("set by a tool"), "{runtime}");
    }
    let old = Subject::start(Runtime::Net31);
    let outcome = old.client.set_environment_variable("DRDOTNET_LATE", "x");
    assert_eq!(refusal(outcome), HResult::UNKNOWN_COMMAND);
}

#[test]
fn a_session_streams_until_it_is_stopped() {
    for runtime in EVERY {
        let subject = Subject::start(runtime);
        for rundown in [Rundown::Default, Rundown::None] {
            let request = TraceRequest { rundown, ..runtime_events() };
            let (granted, bytes) = trace(&subject.client, &request);
            assert_eq!(granted, Granted { command: Command::CollectTracing2, given_up: vec![] }, "{runtime}");
            assert!(bytes.starts_with(b"Nettrace"), "{runtime}");
        }
        subject.assert_healthy();
    }
}

#[test]
fn a_stream_that_is_dropped_ends_its_session_without_harm() {
    for runtime in EVERY {
        let subject = Subject::start(runtime);
        for rundown in [Rundown::Default, Rundown::None, Rundown::Default] {
            let request = TraceRequest { rundown, ..runtime_events() };
            let (mut stream, _) = subject.client.collect_tracing(&request).unwrap();
            let mut magic = [0; 8];
            stream.read_exact(&mut magic).unwrap();
            assert_eq!(&magic, b"Nettrace", "{runtime}");
            drop(stream);
            // 3.1 does not survive a session whose connection is simply closed.
            for _ in 0..5 {
                subject.assert_healthy();
            }
        }
    }
}

#[test]
fn a_session_is_granted_by_the_oldest_command_that_can_carry_it() {
    let keywords = || TraceRequest { rundown: Rundown::Keywords(0x30), ..runtime_events() };
    let no_stacks = || TraceRequest { stacks: false, ..runtime_events() };
    let blocking = || TraceRequest { buffering: BufferingMode::Block, ..runtime_events() };
    let filtered = || {
        let mut request = runtime_events();
        request.providers[0].filter = EventFilter::Only(vec![1, 2]);
        request
    };
    let (two, three) = (Command::CollectTracing2, Command::CollectTracing3);
    let (four, five) = (Command::CollectTracing4, Command::CollectTracing5);
    for (runtime, on_keywords, on_no_stacks, on_filter) in [
        (Runtime::Net31, two, two, two),
        (Runtime::Net8, two, two, two),
        (Runtime::Net9, four, three, two),
        (Runtime::Net10, four, three, five),
    ] {
        let subject = Subject::start(runtime);
        for (request, command, feature) in [
            (keywords(), on_keywords, Feature::RundownKeywords),
            (no_stacks(), on_no_stacks, Feature::NoStacks),
            (filtered(), on_filter, Feature::EventFilter),
            (blocking(), two, Feature::Blocking),
        ] {
            let (granted, bytes) = trace(&subject.client, &request);
            let given_up = if command == two { vec![feature] } else { vec![] };
            assert_eq!(granted, Granted { command, given_up }, "{feature:?} on {runtime}");
            assert!(bytes.starts_with(b"Nettrace"), "{feature:?} on {runtime}");
        }
        subject.assert_healthy();
    }
}

#[test]
fn stopping_no_session_leaves_the_runtime_healthy() {
    for runtime in EVERY {
        let subject = Subject::start(runtime);
        subject.client.stop_tracing(SessionId(0)).unwrap();
        subject.assert_healthy();
    }
}

/// The files by which a target names its code for `perf`. They outlive it, so they are removed here.
struct PerfFiles(u32);

impl PerfFiles {
    /// Always in /tmp: the runtime does not heed `TMPDIR` here, as the target's own folder shows.
    fn map(&self) -> PathBuf {
        PathBuf::from(format!("/tmp/perf-{}.map", self.0))
    }
}

impl Drop for PerfFiles {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.map());
        let _ = std::fs::remove_file(format!("/tmp/perfinfo-{}.map", self.0));
    }
}

#[test]
fn a_perf_map_is_written_since_net_8() {
    for runtime in [Runtime::Net8, Runtime::Net9, Runtime::Net10] {
        let subject = Subject::start(runtime);
        let files = PerfFiles(subject.target.pid());
        subject.client.enable_perf_map(PerfMapKind::PerfMap).unwrap();
        let has_lines = || std::fs::metadata(files.map()).is_ok_and(|file| file.len() > 0);
        wait_until("the map has lines", has_lines);
        subject.client.disable_perf_map().unwrap();
        assert!(files.map().exists(), "the map stays behind, as documented");
        subject.assert_healthy();
    }
    let old = Subject::start(Runtime::Net31);
    assert_eq!(refusal(old.client.enable_perf_map(PerfMapKind::All)), HResult::UNKNOWN_COMMAND);
    assert_eq!(refusal(old.client.disable_perf_map()), HResult::UNKNOWN_COMMAND);
}

#[test]
fn a_start_up_hook_is_run_in_the_process() {
    let subject = Subject::start(Runtime::Net9);
    let command = shared().target(QUIET, Runtime::Net9).command().unwrap();
    let assembly = command.args.iter().find(|word| word.to_string_lossy().ends_with(".dll")).unwrap();
    // This hook does nothing in a process without the variable PATIENT.
    subject.client.apply_startup_hook(assembly.to_str().unwrap()).unwrap();
    subject.assert_healthy();
}

#[test]
fn a_start_up_hook_that_is_not_there_is_answered_in_each_runtimes_own_way() {
    for runtime in EVERY {
        let subject = Subject::start(runtime);
        let outcome = subject.client.apply_startup_hook("/nonexistent/Hook.dll");
        match runtime {
            Runtime::Net31 => assert_eq!(refusal(outcome), HResult::UNKNOWN_COMMAND),
            // A file that is no hook ends the process: an exception that nobody catches.
            Runtime::Net9 => {
                assert!(matches!(outcome, Err(IpcError::Closed { .. })), "{outcome:?}");
                subject.target.wait_exit(LONG).unwrap();
                continue;
            }
            // Hooks may be refused, or trimmed away.
            _ => assert!(matches!(outcome, Ok(()) | Err(IpcError::Refused { .. })), "{runtime}: {outcome:?}"),
        }
        subject.assert_healthy();
    }
}

#[test]
fn a_profiler_that_is_not_there_is_refused() {
    for runtime in EVERY {
        let subject = Subject::start(runtime);
        let request = AttachRequest {
            timeout: Duration::from_secs(1),
            class: NO_CLASS,
            path: "/nonexistent/libprofiler.so".into(),
            data: vec![1, 2, 3],
        };
        let code = refusal(subject.client.attach_profiler(&request));
        assert!(!code.is_success() && code != HResult::UNKNOWN_COMMAND, "{runtime}: {code}");
        subject.assert_healthy();
    }
}

#[test]
fn a_start_up_profiler_comes_too_late_for_a_runtime_that_runs() {
    for runtime in EVERY {
        let subject = Subject::start(runtime);
        let outcome = subject.client.startup_profiler(NO_CLASS, "/nonexistent/libprofiler.so");
        if runtime == Runtime::Net31 {
            // Not "unknown command", although it has none of that number.
            assert_eq!(refusal(outcome), HResult::BAD_ENCODING);
        } else {
            // Accepted all the same.
            outcome.unwrap();
        }
        subject.assert_healthy();
    }
}

#[test]
fn resuming_a_runtime_that_runs_changes_nothing() {
    for runtime in [Runtime::Net8, Runtime::Net9, Runtime::Net10] {
        let subject = Subject::start(runtime);
        subject.client.resume_runtime().unwrap();
        subject.assert_healthy();
    }
}

fn dump_to(path: &Path, kind: DumpKind) -> DumpOptions {
    DumpOptions { path: path.to_str().expect("a path").to_owned(), kind, log: false, crash_report: false }
}

/// Whether the dumper lies beside the runtime and may be run. Without it, 3.1 and 8 leave a copy of the process
/// behind, which a test must not do.
fn has_dumper(pid: u32) -> bool {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("the mappings of the target");
    let library = maps.lines().find(|line| line.ends_with("/libcoreclr.so"));
    let path = library.and_then(|line| line.find('/').map(|start| &line[start..]));
    let dumper = path.map(|path| Path::new(path).with_file_name("createdump"));
    dumper.and_then(|path| path.metadata().ok()).is_some_and(|file| file.permissions().mode() & 0o111 != 0)
}

#[test]
fn a_core_dump_is_written_where_the_runtime_has_its_dumper() {
    for (runtime, expected) in [
        (Runtime::Net31, Command::GenerateCoreDump),
        (Runtime::Net8, Command::GenerateCoreDump3),
        (Runtime::Net9, Command::GenerateCoreDump3),
    ] {
        let subject = Subject::start(runtime);
        if !has_dumper(subject.target.pid()) {
            let _ = writeln!(std::io::stderr(), "skipped on {runtime}: it has no createdump that may be run");
            continue;
        }
        let path = subject.folder.path().join("core");
        let command = subject.client.generate_core_dump(&dump_to(&path, DumpKind::Mini), LONG).unwrap();
        assert_eq!(command, expected, "{runtime}");
        let mut magic = [0; 4];
        File::open(&path).unwrap().read_exact(&mut magic).unwrap();
        assert_eq!(&magic, b"\x7fELF", "{runtime}");
        subject.assert_healthy();
    }
}

#[test]
fn a_single_file_program_refuses_a_small_dump_and_says_why() {
    let subject = Subject::start(Runtime::Net10);
    let path = subject.folder.path().join("core");
    let outcome = subject.client.generate_core_dump(&dump_to(&path, DumpKind::Mini), LONG);
    let Err(IpcError::Refused { command, code, detail }) = outcome else { panic!("{outcome:?}") };
    assert_eq!((command, code), (Command::GenerateCoreDump3, HResult::E_FAIL));
    assert!(detail.as_ref().is_some_and(|text| text.contains("full")), "{detail:?}");
    assert!(!path.exists());
    subject.assert_healthy();
}

#[test]
fn a_core_dump_into_a_folder_that_is_not_there_is_refused() {
    let subject = Subject::start(Runtime::Net9);
    let options = dump_to(Path::new("/nonexistent/folder/core"), DumpKind::Mini);
    let outcome = subject.client.generate_core_dump(&options, LONG);
    let Err(IpcError::Refused { command, detail, .. }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(command, Command::GenerateCoreDump3);
    assert!(detail.is_some_and(|text| text.contains("/nonexistent/folder/core")));
    subject.assert_healthy();
}

#[test]
fn user_events_without_kernel_support_are_refused_and_do_not_hang() {
    let providers = [UserEventsProvider {
        provider: Provider::new(RUNTIME_PROVIDER, GC_KEYWORD, Level::Informational),
        tracepoints: Tracepoints { default_name: "drdotnet_test".into(), named: vec![] },
    }];
    for runtime in EVERY {
        let subject = Subject::start(runtime);
        let nowhere = File::options().read(true).write(true).open("/dev/null").unwrap();
        let outcome = subject.client.collect_user_events(0, &providers, nowhere.as_fd());
        match outcome {
            Err(error) if error.is_unknown_command() => assert_ne!(runtime, Runtime::Net10),
            Err(IpcError::Refused { .. }) => assert_eq!(runtime, Runtime::Net10),
            other => panic!("{runtime}: {other:?}"),
        }
        subject.assert_healthy();
    }
}

/// Stops a target, and waits until its last thread has stopped.
fn stop(target: &Target) {
    target.suspend().expect("it can be stopped");
    let tasks = format!("/proc/{}/task", target.pid());
    wait_until("all threads have stopped", || {
        let mut tasks = std::fs::read_dir(&tasks).expect("its threads").flatten();
        tasks.all(|task| {
            let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
        })
    });
}

#[test]
fn a_stopped_process_does_not_answer_and_does_not_keep_us() {
    let timeout = Duration::from_millis(300);
    for runtime in EVERY {
        let subject = Subject::start(runtime);
        let hurried = subject.client.clone().with_timeout(timeout);
        stop(&subject.target);
        let mut outcomes = vec![hurried.process_info().map(drop), hurried.environment().map(drop)];
        if runtime != Runtime::Net31 {
            // 3.1 may crash when it comes to a session whose client has given up.
            outcomes.push(hurried.collect_tracing(&runtime_events()).map(drop));
            outcomes.push(hurried.resume_runtime());
        }
        for outcome in outcomes {
            let Err(IpcError::NoAnswer { waited, .. }) = outcome else { panic!("{runtime}: {outcome:?}") };
            assert!(waited >= timeout && waited < timeout + LONG, "{runtime}: {waited:?}");
        }
        subject.target.resume().unwrap();
        subject.assert_healthy();
    }
}

#[test]
fn a_process_that_ends_ends_its_sessions() {
    for runtime in EVERY {
        let subject = Subject::start(runtime);
        let (mut stream, _) = subject.client.collect_tracing(&runtime_events()).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        subject.target.kill().unwrap();
        subject.target.wait_exit(LONG).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        let error = subject.client.process_info().unwrap_err();
        let refused = matches!(&error, IpcError::Connect { source, .. }
            if source.kind() == ErrorKind::ConnectionRefused);
        assert!(refused, "{runtime}: {error}");
    }
}

#[test]
fn callers_that_say_nothing_do_the_runtime_no_harm() {
    for runtime in EVERY {
        let subject = Subject::start(runtime);
        for _ in 0..20 {
            let listener = subject.endpoint.listener(LONG).unwrap();
            assert_eq!(listener, Some(ProcessId(subject.target.pid())), "{runtime}");
        }
        subject.assert_healthy();
        assert_eq!(subject.target.stderr_text(), "", "{runtime}");
    }
}

#[test]
fn a_silent_caller_blocks_a_runtime_only_while_it_is_connected() {
    for runtime in EVERY {
        let subject = Subject::start(runtime);
        let silent = UnixStream::connect(subject.endpoint.path()).unwrap();
        // The runtime serves one caller at a time.
        let hurried = subject.client.clone().with_timeout(Duration::from_millis(300));
        assert!(matches!(hurried.process_info(), Err(IpcError::NoAnswer { .. })), "{runtime}");
        drop(silent);
        subject.assert_healthy();
    }
}

#[test]
fn only_the_expected_process_is_asked() {
    let subject = Subject::start(Runtime::Net9);
    let own = Client::new(subject.endpoint.clone().expecting(ProcessId(subject.target.pid())));
    own.with_timeout(LONG).process_info().unwrap();

    let me = ProcessId(std::process::id());
    let error = Client::new(subject.endpoint.clone().expecting(me)).process_info().unwrap_err();
    let IpcError::Impostor { expected, listener, .. } = &error else { panic!("{error}") };
    assert_eq!((*expected, *listener), (me, Some(ProcessId(subject.target.pid()))));
    let text = format!("process {} listens there instead of process {me}", subject.target.pid());
    assert!(error.to_string().contains(&text), "{error}");
}

/// A folder whose path alone is longer than a socket's may be.
fn long_folder(base: &Path) -> PathBuf {
    let folder = base.join("x".repeat(60)).join("y".repeat(60));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[test]
fn a_runtime_whose_folder_has_a_long_path_makes_no_socket() {
    let base = tempfile::tempdir().unwrap();
    let folder = long_folder(base.path());
    for runtime in [Runtime::Net31, Runtime::Net8, Runtime::Net9] {
        let target = shared().target(QUIET, runtime).tmpdir(&folder).start().unwrap();
        assert_eq!(socket_in(&folder), None, "{runtime}");
        assert!(target.is_alive());
    }
}

#[test]
fn a_socket_with_a_long_path_is_reached() {
    let base = tempfile::tempdir().unwrap();
    let folder = long_folder(base.path());
    let opened = File::open(&folder).unwrap();
    let short = format!("/proc/self/fd/{}/dotnet-diagnostic-1-2-socket", opened.as_raw_fd());
    let listener = UnixListener::bind(short).unwrap();
    let endpoint = Endpoint::at(folder.join("dotnet-diagnostic-1-2-socket"));
    assert!(endpoint.path().as_os_str().len() > 108);
    assert_eq!(endpoint.listener(LONG).unwrap(), Some(ProcessId(std::process::id())));
    drop(listener);
    let missing = Endpoint::at(folder.join("dotnet-diagnostic-3-4-socket")).listener(LONG).unwrap_err();
    assert!(matches!(missing, IpcError::Connect { .. }), "{missing}");
}

/// A socket at which the test answers the first call, after its request has been read.
struct Fake {
    endpoint: Endpoint,
    _folder: TempDir,
}

impl Fake {
    fn answering(answer: impl FnOnce(&mut UnixStream) + Send + 'static) -> Fake {
        let folder = tempfile::tempdir().expect("a temp folder");
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).expect("a socket");
        std::thread::spawn(move || {
            let (mut caller, _) = listener.accept().expect("a caller");
            let mut request = [0; HEADER_SIZE];
            caller.read_exact(&mut request).expect("a request without a payload");
            answer(&mut caller);
        });
        Fake { endpoint: Endpoint::at(path), _folder: folder }
    }

    /// Asks it what it is, with a timeout.
    fn ask(&self, timeout: Duration) -> IpcError {
        let client = Client::new(self.endpoint.clone()).with_timeout(timeout);
        client.process_info().expect_err("a fake is no runtime")
    }
}

fn reply(size: u16, set: u8, id: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = b"DOTNET_IPC_V1\0".to_vec();
    bytes.extend_from_slice(&size.to_le_bytes());
    bytes.extend_from_slice(&[set, id, 0, 0]);
    bytes.extend_from_slice(payload);
    bytes
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    let (done, wait) = std::sync::mpsc::channel::<()>();
    let fake = Fake::answering(move |_| assert!(wait.recv().is_err()));
    let error = fake.ask(Duration::from_millis(300));
    assert!(matches!(error, IpcError::NoAnswer { command: Command::ProcessInfo3, .. }), "{error}");
    drop(done);
}

#[test]
fn a_server_that_drips_bytes_is_given_up_all_the_same() {
    let fake = Fake::answering(|caller| {
        for byte in reply(200, 0xFF, 0, &[0; 180]) {
            if caller.write_all(&[byte]).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    let error = fake.ask(Duration::from_millis(500));
    // All of it would take 20 seconds.
    let IpcError::NoAnswer { waited, .. } = error else { panic!("{error}") };
    assert!(waited < Duration::from_secs(10), "{waited:?}");
}

#[test]
fn a_reply_that_breaks_off_is_told_with_its_length() {
    for (sent, received) in [(0, 0), (7, 7), (20, 20), (33, 33)] {
        let fake = Fake::answering(move |caller| {
            let _ = caller.write_all(&reply(100, 0xFF, 0, &[0; 80])[..sent]);
        });
        let error = fake.ask(LONG);
        let IpcError::Closed { received: told, .. } = error else { panic!("{error}") };
        assert_eq!(told, received);
    }
}

#[test]
fn a_reply_that_is_none_is_told_as_such() {
    let wrong_magic = b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec();
    for (bytes, problem, offset) in [
        (wrong_magic, "not the diagnostics protocol", 0),
        (reply(19, 0xFF, 0, &[]), "size", 14),
        (reply(20, 0x04, 0x04, &[]), "neither an answer nor an error", 16),
        (reply(20, 0xFF, 0x01, &[]), "neither an answer nor an error", 16),
        (reply(24, 0xFF, 0, &[0; 4]), "pid", 4),
        (reply(20, 0xFF, 0xFF, &[]), "error code", 0),
    ] {
        let fake = Fake::answering(move |caller| drop(caller.write_all(&bytes)));
        let error = fake.ask(LONG);
        let IpcError::Malformed { problem: told, offset: place, .. } = error else { panic!("{error}") };
        assert_eq!((told, place), (problem, offset));
    }
}

#[test]
fn a_reply_of_the_largest_size_is_read_to_its_end() {
    let fake =
        Fake::answering(|caller| drop(caller.write_all(&reply(u16::MAX, 0xFF, 0, &[0xFF; MAX_PAYLOAD]))));
    let error = fake.ask(LONG);
    // A string that claims four billion letters.
    assert!(matches!(error, IpcError::Malformed { problem: "command line", offset: 28, .. }), "{error}");
}

#[test]
fn an_environment_of_absurd_size_is_refused_before_it_is_read() {
    let fake = Fake::answering(|caller| {
        let _ = caller.write_all(&reply(26, 0xFF, 0, &[0xFF, 0xFF, 0xFF, 0xFF, 0, 0]));
    });
    let error = Client::new(fake.endpoint.clone()).with_timeout(LONG).environment().unwrap_err();
    assert!(matches!(error, IpcError::Malformed { problem: "size of the environment", .. }), "{error}");
}

#[test]
fn an_error_reply_is_told_with_its_code() {
    let payload = 0x8000_4005u32.to_le_bytes();
    let fake = Fake::answering(move |caller| drop(caller.write_all(&reply(24, 0xFF, 0xFF, &payload))));
    let error = fake.ask(LONG);
    assert!(matches!(error, IpcError::Refused { code: HResult::E_FAIL, detail: None, .. }), "{error}");
    assert_eq!(error.to_string(), "ProcessInfo3: unspecified failure (E_FAIL 0x80004005)");
}

#[test]
fn a_full_queue_of_callers_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    rustix::net::listen(&socket, 1).unwrap();
    // Nobody accepts, so each of these stays in the queue until there is no room.
    let endpoint = Endpoint::at(&path);
    let error = (0..10).find_map(|_| endpoint.listener(Duration::from_millis(100)).err()).unwrap();
    let IpcError::Connect { source, .. } = &error else { panic!("{error}") };
    assert_eq!(source.kind(), ErrorKind::TimedOut, "{error}");
}

#[test]
fn a_socket_that_nobody_serves_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    drop(UnixListener::bind(&path).unwrap());
    for (path, kind) in
        [(path, ErrorKind::ConnectionRefused), (folder.path().join("nothing"), ErrorKind::NotFound)]
    {
        let error = Client::new(Endpoint::at(path)).with_timeout(LONG).process_info().unwrap_err();
        let IpcError::Connect { source, .. } = &error else { panic!("{error}") };
        assert_eq!(source.kind(), kind, "{error}");
    }
}
