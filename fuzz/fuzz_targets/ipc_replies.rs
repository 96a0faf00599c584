//! Whatever a process answers on its diagnostics socket, the client neither panics nor hangs.
//!
//! The first byte chooses the command, the second how the rest is sent: as it is, or behind a header that is
//! right, so that the fuzzer need not find the magic first.
#![no_main]

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::time::Duration;

use diagnostics_ipc::{
    Client, Deadline, DumpKind, DumpOptions, IpcError, Level, Provider, SessionId, TraceRequest, Transport,
    decode,
};
use libfuzzer_sys::fuzz_target;

/// A runtime that answers every command with these bytes and hangs up.
struct Answers {
    bytes: Vec<u8>,
    /// The far ends, open for reading until the client is done: its request would fail before the answer is read.
    far_ends: Mutex<Vec<UnixStream>>,
}

impl Transport for Answers {
    fn connect(&self, _: &Deadline) -> Result<UnixStream, IpcError> {
        let (ours, mut theirs) = UnixStream::pair().expect("a socket pair");
        theirs.set_nonblocking(true).expect("a socket option");
        let _ = theirs.write_all(&self.bytes);
        let _ = theirs.shutdown(Shutdown::Write);
        self.far_ends.lock().expect("a lock").push(theirs);
        Ok(ours)
    }
}

fn framed(kind: u8, payload: &[u8]) -> Vec<u8> {
    let size = u16::try_from(20 + payload.len()).unwrap_or(u16::MAX);
    let mut bytes = b"DOTNET_IPC_V1\0".to_vec();
    bytes.extend_from_slice(&size.to_le_bytes());
    bytes.extend_from_slice(&[0xFF, if kind == 1 { 0xFF } else { 0x00 }, 0, 0]);
    bytes.extend_from_slice(payload);
    bytes
}

fuzz_target!(|input: &[u8]| {
    let [command, kind, rest @ ..] = input else { return };
    let answer = match kind % 4 {
        0 => rest.to_vec(),
        // An answer followed by more bytes, as the environment is.
        3 => {
            let (head, tail) = rest.split_at(rest.len().min(6));
            let mut bytes = framed(0, head);
            bytes.extend_from_slice(tail);
            bytes
        }
        kind => framed(kind, rest),
    };
    let client = Client::new(Answers { bytes: answer, far_ends: Mutex::default() })
        .with_timeout(Duration::from_secs(2));
    match command % 9 {
        0 => drop(client.process_info()),
        1 => drop(client.environment()),
        2 => drop(client.resume_runtime()),
        3 => drop(client.stop_tracing(SessionId(1))),
        4 => {
            let request = TraceRequest::new(1, vec![Provider::new("P", 1, Level::Verbose)]);
            drop(client.collect_tracing(&request));
        }
        5 => {
            let options =
                DumpOptions { path: "x".into(), kind: DumpKind::Mini, log: false, crash_report: false };
            drop(client.generate_core_dump(&options, Duration::from_secs(2)));
        }
        6 => drop(decode::advertise(rest)),
        7 => drop(decode::environment(rest)),
        _ => drop(client.set_environment_variable("a", "b")),
    }
});
