//! An agent that sends what nobody meant: the host's side of the socket. A runtime is played, since no real one has
//! such an agent.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use agent_host::{AgentError, Attached, Options, attach};
use agent_wire::{Attach, FromAgent, Hello, Message, Method, Pause, Reason, Stack, ThreadEntry, VERSION};
use diagnostics_ipc::{Client, Deadline, IpcError, Transport};
use model::ProcessId;

use crate::support::Chance;

/// What the played agent does with its connection once it was greeted.
type Deed = Arc<dyn Fn(&mut UnixStream) + Send + Sync>;

/// A runtime that "loads" an agent which does one deed.
struct Played {
    version: u16,
    deed: Deed,
}

impl Transport for Played {
    fn connect(&self, _: &Deadline) -> Result<UnixStream, IpcError> {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let (version, deed) = (self.version, Arc::clone(&self.deed));
        std::thread::spawn(move || play(theirs, version, &deed));
        Ok(ours)
    }
}

fn play(mut runtime: UnixStream, version: u16, deed: &Deed) {
    let orders = orders(&mut runtime);
    runtime.write_all(b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0").expect("a reply");
    let mut agent = UnixStream::connect(&orders.socket).expect("the host listens");
    let hello = Hello {
        version,
        proof: orders.token.agent,
        process: 1,
        runtime: [9, 0, 0, 0],
        interface: 15,
        attached: 1,
    };
    let _ = agent.write_all(&FromAgent::Hello(hello).encode());
    let mut welcome = [0; 21];
    if agent.read_exact(&mut welcome).is_ok() {
        deed(&mut agent);
    }
}

/// The client data of the request: all that follows the path of the library.
fn orders(runtime: &mut UnixStream) -> Attach {
    let mut header = [0; 20];
    runtime.read_exact(&mut header).expect("a header");
    let mut payload = vec![0; usize::from(u16::from_le_bytes([header[14], header[15]])) - header.len()];
    runtime.read_exact(&mut payload).expect("a payload");
    let number = |at: usize| u32::from_le_bytes(payload[at..at + 4].try_into().expect("4 bytes")) as usize;
    let data = 24 + 2 * number(20);
    Attach::decode(&payload[data + 4..]).expect("orders")
}

pub fn attached_to(
    version: u16,
    deed: impl Fn(&mut UnixStream) + Send + Sync + 'static,
) -> Result<Attached, AgentError> {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options { folder: Some(folder.path().to_owned()), ..Options::default() };
    let client = Client::new(Played { version, deed: Arc::new(deed) }).with_timeout(Duration::from_secs(60));
    let attached = attach(ProcessId(std::process::id()), &client, &options);
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "nothing is left behind");
    attached
}

/// The answer to a question about stacks when these bytes come.
fn asked(bytes: Vec<u8>) -> Result<agent_host::Stacks, AgentError> {
    let said = move |agent: &mut UnixStream| {
        let mut question = [0; 5];
        let _ = agent.read_exact(&mut question).and_then(|()| agent.write_all(&bytes));
    };
    attached_to(VERSION, said).expect("it calls").stacks()
}

fn answered() -> FromAgent {
    FromAgent::Answered {
        left_out: u32::MAX,
        pause: Pause { suspending: Duration::MAX, suspended: Duration::MAX },
    }
}

fn method(id: u64) -> FromAgent {
    let module = "m".repeat(60_000);
    FromAgent::Method(Method { id, token: 1, module, class: String::new(), name: String::new() })
}

#[test]
fn an_agent_of_another_version_is_not_listened_to() {
    let error = attached_to(VERSION + 1, |_| ()).expect_err("another version");
    assert!(matches!(error, AgentError::Version { .. }), "{error}");
}

#[test]
fn an_agent_that_hangs_up_is_lost() {
    let error = asked(Vec::new()).expect_err("no answer");
    assert!(matches!(error, AgentError::Lost { .. }), "{error}");
    let half = &answered().encode()[..7];
    let error = asked(half.to_vec()).expect_err("half an answer");
    assert!(matches!(error, AgentError::Lost { .. }), "{error}");
}

#[test]
fn a_farewell_where_an_answer_was_expected_says_why() {
    let error = asked(FromAgent::Leaving(Reason::Deadline).encode()).expect_err("no answer");
    assert!(matches!(error, AgentError::Left { reason: Reason::Deadline }), "{error}");
    // It went before it was asked: what it said last is still to be read.
    let gone =
        attached_to(VERSION, |agent| drop(agent.write_all(&FromAgent::Leaving(Reason::Lost).encode())));
    let mut gone = gone.expect("it calls");
    let error = gone.stacks().expect_err("nobody is there");
    assert!(matches!(error, AgentError::Left { reason: Reason::Lost }), "{error}");
}

#[test]
fn what_is_no_message_is_damage() {
    let thread = ThreadEntry { id: 1, os: 1 };
    let foreign = FromAgent::Thread(thread).encode();
    let mut wrong_count =
        FromAgent::Stack(Stack { thread, code: 0, cut: false, frames: vec![(1, 2)] }).encode();
    wrong_count[22] = 0xff;
    let speeches: [Vec<u8>; 8] = [
        vec![0; 64],
        vec![0xff; 64],
        b"HTTP/1.1 200 OK\r\n\r\n".to_vec(),
        vec![1, 0, 0, 0, 99],
        vec![6, 0, 0, 0, 4, 1, 1, 1, 1, 1],
        [FromAgent::Detached.encode(), answered().encode()].concat(),
        foreign,
        wrong_count,
    ];
    for speech in speeches {
        let error = asked(speech.clone()).expect_err("no answer");
        assert!(matches!(error, AgentError::Damaged(_)), "{error} after {speech:?}");
    }
}

#[test]
fn absurd_numbers_are_only_numbers() {
    let answer = asked(answered().encode()).expect("an answer");
    assert_eq!((answer.stacks.len(), answer.left_out), (0, u32::MAX));
    assert!(answer.pause.suspending.checked_add(answer.pause.suspended).is_some(), "they can be added");
}

#[test]
fn an_answer_without_an_end_is_given_up_before_it_fills_the_memory() {
    let endless = |part: fn(u64) -> FromAgent| {
        move |agent: &mut UnixStream| {
            for id in 0.. {
                if agent.write_all(&part(id).encode()).is_err() {
                    return;
                }
            }
        }
    };
    let error = attached_to(VERSION, endless(method)).expect("it calls").stacks().expect_err("no end");
    assert!(matches!(error, AgentError::Damaged(_)), "{error}");
    let thread = |id| FromAgent::Thread(ThreadEntry { id, os: 1 });
    let error = attached_to(VERSION, endless(thread)).expect("it calls").threads().expect_err("no end");
    assert!(matches!(error, AgentError::Damaged(_)), "{error}");
    let peak = process_view::Process::this().peak_memory().expect("memory");
    assert!(peak < 1 << 30, "{peak} bytes");
}

#[test]
fn a_farewell_of_nonsense_is_an_error() {
    let attached = attached_to(VERSION, |agent| drop(agent.write_all(&[7; 64]))).expect("it calls");
    let error = attached.leave().expect_err("no farewell");
    assert!(matches!(error, AgentError::Damaged(_)), "{error}");
}

#[test]
fn bytes_that_nobody_chose_never_panic() {
    let mut chance = Chance::new();
    let sound: Vec<u8> = [
        FromAgent::Stack(Stack {
            thread: ThreadEntry { id: 1, os: 1 },
            code: 0,
            cut: true,
            frames: vec![(1, 2); 9],
        }),
        method(7),
        FromAgent::Leaving(Reason::Told),
        answered(),
    ]
    .iter()
    .flat_map(Message::encode)
    .collect();
    for round in 0..300 {
        let mut bytes = sound.clone();
        for _ in 0..=round % 5 {
            // Near the front: most of the message is one long name.
            let at = usize::try_from(chance.number() % 256).expect("small");
            bytes[at] = chance.number().to_le_bytes()[0];
        }
        if let Ok(answer) = asked(bytes) {
            assert!(answer.stacks.len() <= 1);
        }
    }
}
