//! An agent that tells a heap which makes no sense: through the shared memory, and in what it says of it.

use std::fs::File;
use std::io::{IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;

use agent_host::{AgentError, GraphEnd, GraphWay};
use agent_wire::{
    Content, FULL, FromAgent, HEAD_BYTES, Message, OBJECT_HEAD_WORDS, ObjectWriter, Pause, RING_BYTES,
    SlotHead, ToldObject, VERSION, slot_at, state_of,
};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use crate::graph::{Counting, order};
use crate::hostile_agent::attached_to;
use crate::support::Chance;

/// The question, and the memory that comes along.
fn question(agent: &mut UnixStream) -> Option<File> {
    let mut question = [0; 14];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut enclosed = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::WAITALL;
    recvmsg(&*agent, &mut [IoSliceMut::new(&mut question)], &mut enclosed, flags).ok()?;
    enclosed.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next().map(File::from),
        _ => None,
    })
}

/// What the host makes of slots that are filled like this, and of what is said in the end.
fn told(slots: Vec<(SlotHead, Vec<u8>)>, said: Vec<FromAgent>) -> Result<u64, AgentError> {
    let deed = move |agent: &mut UnixStream| {
        let Some(memory) = question(agent) else { return };
        assert_eq!(memory.metadata().expect("a size").len(), RING_BYTES as u64);
        for (at, (head, bytes)) in slots.iter().enumerate() {
            memory.write_all_at(&head.encode(), slot_at(at) as u64).expect("a head");
            memory.write_all_at(bytes, (slot_at(at) + HEAD_BYTES) as u64).expect("a slot");
            memory.write_all_at(&[FULL], state_of(at) as u64).expect("a state");
        }
        for message in &said {
            let _ = agent.write_all(&message.encode());
        }
        // Until the host has heard it.
        let _ = agent.read(&mut [0]);
    };
    let mut attached = attached_to(VERSION, deed).expect("it calls");
    let mut sink = Counting::default();
    let order = order(GraphWay::Walk);
    attached.heap_graph(&order, &mut sink, |threads| threads.len()).map(|heap| heap.end.objects)
}

fn end(slots: u64, objects: u64, references: u64) -> FromAgent {
    FromAgent::GraphEnd(GraphEnd { slots, objects, references, looked: false, collections: 0 })
}

fn answered() -> FromAgent {
    FromAgent::Answered { left_out: 0, pause: Pause::default() }
}

/// One object with two references.
fn object() -> Vec<u8> {
    let object = ToldObject { address: 0x7000, class: 0x8000, size: 32, references: 2 };
    let mut words = [0; OBJECT_HEAD_WORDS];
    let used = ObjectWriter::default().head(&object, false, &mut words).expect("an address");
    words[..used].iter().chain(&[0x7000, 0x7000]).flat_map(|word| word.to_le_bytes()).collect()
}

fn slot(number: u64, content: Content, bytes: Vec<u8>) -> (SlotHead, Vec<u8>) {
    (SlotHead { number, length: u32::try_from(bytes.len()).expect("a slot"), content }, bytes)
}

#[test]
fn a_heap_that_is_not_what_was_announced_is_none() {
    let whole = || vec![slot(0, Content::Objects, object())];
    assert_eq!(told(whole(), vec![end(1, 1, 2), answered()]).expect("a heap"), 1);
    assert_eq!(told(Vec::new(), vec![end(0, 0, 0), answered()]).expect("an empty heap"), 0);
    let ends = [end(2, 1, 2), end(1, 2, 2), end(1, 1, 1), end(0, 1, 2), end(u64::MAX, u64::MAX, u64::MAX)];
    for said in ends {
        let error = told(whole(), vec![said.clone(), answered()]).expect_err("no heap");
        assert!(matches!(error, AgentError::Damaged(_)), "{error} after {said:?}");
    }
}

#[test]
fn slots_that_make_no_sense_are_damage() {
    let whole = object();
    let lacks = whole[..whole.len() - 8].to_vec();
    let cases = [
        slot(1, Content::Objects, whole.clone()),
        (SlotHead { length: u32::MAX, ..slot(0, Content::Objects, Vec::new()).0 }, whole.clone()),
        slot(0, Content::Objects, lacks),
        slot(0, Content::Objects, whole[..8].to_vec()),
        slot(0, Content::Objects, whole[..whole.len() - 3].to_vec()),
        slot(0, Content::Frames, vec![0xff; 64]),
        slot(0, Content::Events, vec![1; 64]),
    ];
    for case in cases {
        let error = told(vec![case.clone()], vec![end(1, 1, 2), answered()]).expect_err("no heap");
        assert!(matches!(error, AgentError::Damaged(_)), "{error} after {case:?}");
    }
}

#[test]
fn slots_that_nobody_chose_never_panic() {
    let mut chance = Chance::new();
    for _ in 0..100 {
        let bytes: Vec<u8> = (0..chance.number() % 4096).map(|_| chance.number().to_le_bytes()[0]).collect();
        let contents = [Content::Frames, Content::FramesEnd, Content::Objects, Content::Events];
        let content = contents[usize::try_from(chance.number() % 4).expect("small")];
        let _ = told(vec![slot(0, content, bytes)], vec![end(1, 1, 2), answered()]);
    }
}
