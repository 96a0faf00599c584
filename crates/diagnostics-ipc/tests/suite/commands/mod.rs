//! Every command against real runtimes: 3.1, 8 and 9 run a patient, 10 runs a program that is not ours.

mod peers;

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::{LONG, QUIET, wait_until};
use diagnostics_ipc::{
    AttachRequest, BufferingMode, Client, Command, DumpKind, DumpOptions, Endpoint, EventFilter, Feature,
    Granted, Guid, HEADER_SIZE, HResult, IpcError, Level, MAX_PAYLOAD, PerfMapKind, Provider, Rundown,
    SessionId, TraceRequest, Tracepoints, UserEventsProvider,
};
use model::ProcessId;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
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
