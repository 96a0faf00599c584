//! Peers that are stopped, silent, slow, broken or not who they should be.

use super::*;

#[test]
fn a_stopped_process_does_not_answer_and_does_not_keep_us() {
    let timeout = Duration::from_millis(300);
    for runtime in EVERY {
        let subject = Subject::start(runtime);
        let hurried = subject.client.clone().with_timeout(timeout);
        subject.target.suspend().unwrap();
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
    for runtime in Runtime::ALL {
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
