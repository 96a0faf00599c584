//! Bytes that nobody meant, from either side.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use agent_host::{library, library_name};
use agent_wire::{Ask, Attach, FromAgent, FromHost, Inbox, Message, Token, class_id};
use diagnostics_ipc::{AttachRequest, Guid};
use testbed::Runtime;

use crate::support::{Guest, LONG, every_runtime};

const SOCKET: &str = "by-hand.sock";
const TOKEN: Token = Token { agent: [7; 16], host: [8; 16] };

/// An order to load the agent, which then calls at the socket [`SOCKET`].
pub fn order(guest: &Guest) -> AttachRequest {
    let (file, socket) = (guest.file(library_name()), guest.file(SOCKET));
    // Once: to write into a file that is mapped kills the target.
    if !file.exists() {
        fs::write(&file, library()).expect("the library");
    }
    let text = |path: &PathBuf| path.to_str().expect("UTF-8").to_owned();
    let orders = Attach { token: TOKEN, stay: LONG, socket: text(&socket) };
    AttachRequest {
        timeout: Duration::from_secs(1),
        class: Guid(class_id(None)),
        path: text(&file),
        data: orders.encode(),
    }
}

/// Loads the agent by hand, and takes its call.
fn call_of_the_agent(guest: &Guest) -> UnixStream {
    let request = order(guest);
    let socket = guest.file(SOCKET);
    let _ = fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket).expect("a socket");
    guest.client.attach_profiler(&request).expect("it is loaded");
    let (stream, _) = listener.accept().expect("it calls");
    stream.set_read_timeout(Some(LONG)).expect("a timeout");
    stream
}

/// Everything until the end of the stream.
fn messages_to_the_end(stream: &mut UnixStream) -> Vec<FromAgent> {
    let mut inbox = Inbox::default();
    let mut found = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        while let Some(message) = inbox.message().expect("sound messages") {
            found.push(message);
        }
        match stream.read(&mut buffer) {
            Ok(0) => return found,
            Ok(length) => inbox.feed(&buffer[..length]),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return found,
            Err(error) => panic!("{error} after {found:?}"),
        }
    }
}

#[test]
fn the_agent_leaves_a_host_that_talks_nonsense() {
    let welcome = FromHost::Welcome(TOKEN.host).encode();
    let welcome_and = |more: &[u8]| [welcome.as_slice(), more].concat();
    let speeches = [
        FromHost::Welcome(TOKEN.agent).encode(),
        FromHost::Leave.encode(),
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        vec![0xff; 5000],
        welcome_and(&[0; 64]),
        welcome_and(&welcome),
        welcome_and(&[2, 0, 0, 0, 2, 2]),
    ];
    every_runtime(|runtime| {
        let guest = Guest::quiet(runtime);
        for speech in &speeches {
            let mut stream = call_of_the_agent(&guest);
            // It may hang up before it has read all of it.
            let _ = stream.write_all(speech);
            let said = messages_to_the_end(&mut stream);
            assert!(matches!(said.first(), Some(FromAgent::Hello(_))), "{runtime}: {said:?}");
            guest.wait_until_alone();
        }
        guest.can_be_visited();
    });
}

#[test]
fn the_agent_leaves_a_host_that_does_not_listen() {
    every_runtime(|runtime| {
        let guest = Guest::with_known_stack(runtime);
        let mut stream = call_of_the_agent(&guest);
        let mut speech = FromHost::Welcome(TOKEN.host).encode();
        for _ in 0..2000 {
            speech.extend(FromHost::Ask(Ask::Stacks).encode());
        }
        // Nothing is read, until the agent's answers fill the socket and it gives up.
        stream.write_all(&speech).expect("questions");
        crate::support::wait_for("the agent to come", || guest.has_agent_thread());
        guest.wait_until_alone();
        drop(stream);
        guest.can_be_visited();
    });
}

#[test]
fn strangers_on_the_hosts_socket_hold_up_nobody() {
    let guest = Guest::quiet(Runtime::Net9);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut kept = Vec::new();
            let until = Instant::now() + LONG;
            while !done.load(Ordering::Acquire) && Instant::now() < until {
                for entry in fs::read_dir(guest.folder.path()).expect("a folder").flatten() {
                    if !entry.file_name().to_string_lossy().ends_with(".sock") {
                        continue;
                    }
                    if let Ok(mut stream) = UnixStream::connect(entry.path()) {
                        // Half of them say nothing at all.
                        if kept.len() % 2 == 0 {
                            let _ = stream.write_all(&[1, 2, 3, 4, 5, 6, 7, 8]);
                        }
                        kept.push(stream);
                        kept.drain(..kept.len().saturating_sub(100));
                    }
                }
            }
        });
        for _ in 0..10 {
            guest.can_be_visited();
        }
        done.store(true, Ordering::Release);
    });
}
