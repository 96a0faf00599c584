//! What is written is read back; any other bytes are damage and never a panic.

use std::time::Duration;

use agent_wire::{
    Ask, Attach, Blocked, Chain, ChainEnd, Class, DEEPEST_STACK, Fault, Field, Follow, FromAgent, FromHost,
    GraphAsk, GraphEnd, GraphWay, HeapType, Hello, Inbox, LONGEST_FRAME, Layout, LockLayout, MOST_BYTES,
    MOST_RANGES, Message, Method, Object, Owner, Pause, Pending, Pick, Plan, Range, Reason, Sample, Stack,
    Stage, ThreadEntry, Token, VERSION, WaitKind, WaitList, class_id,
};
use proptest::prelude::*;

fn attach() -> Attach {
    Attach {
        token: Token { agent: [1; 16], host: [2; 16] },
        stay: Duration::from_secs(60),
        socket: "/tmp/ä.sock".into(),
    }
}

fn from_agent() -> Vec<FromAgent> {
    let thread = ThreadEntry { id: 7, os: 8 };
    vec![
        FromAgent::Hello(Hello {
            version: VERSION,
            proof: [3; 16],
            process: 4,
            runtime: [9, 0, 7, 0],
            interface: 15,
            attached: 1,
        }),
        FromAgent::Thread(thread),
        FromAgent::Stack(Stack { thread, code: -5, cut: true, frames: vec![(1, 2), (0, 3)] }),
        FromAgent::Method(Method {
            id: 1,
            token: 0x0600_0001,
            module: "/a/b.dll".into(),
            class: "A.B+C".into(),
            name: "<M>g__ü|0".into(),
        }),
        FromAgent::Answered {
            left_out: 1,
            pause: Pause { suspending: Duration::from_micros(3), suspended: Duration::from_nanos(5) },
        },
        FromAgent::Refused { stage: Stage::Turn, code: -1 },
        FromAgent::Refused { stage: Stage::Memory, code: -1 },
        FromAgent::GraphEnd(GraphEnd { slots: 1, objects: 2, references: 3, looked: true, collections: 4 }),
        FromAgent::Module { id: 1, path: "/a/b.dll".into() },
        FromAgent::Leaving(Reason::Deadline),
        FromAgent::Detached,
        FromAgent::HeapType(HeapType {
            id: 1,
            count: 2,
            token: 3,
            parent: 4,
            arguments: vec![5, 6],
            rank: 7,
            module: "m".into(),
            name: "n".into(),
        }),
        FromAgent::Layout(Layout {
            id: 1,
            size: 2,
            move_next: 3,
            fields: vec![Field { offset: 4, name: "<>u__1".into() }],
        }),
        FromAgent::Objects(vec![
            Object { address: 1, class: 2, bytes: vec![3; 70] },
            Object { address: 4, class: 5, bytes: Vec::new() },
        ]),
        FromAgent::Memory(vec![Some(vec![1, 2, 3]), None, Some(Vec::new())]),
        FromAgent::Domain(77),
        FromAgent::Blocked(Blocked {
            thread: 7,
            kind: WaitKind::Lock,
            timeout: -1,
            lock: 0x7000,
            words: [1, 2, 3, 4],
            object: 0x7000,
            class: 0x8000,
        }),
        FromAgent::Class(Class {
            id: 0x8000,
            token: 0x0200_0003,
            module: "/a/b.dll".into(),
            name: "A.B".into(),
        }),
        FromAgent::Pending(Pending { count: 12, links: vec![0x9000] }),
        FromAgent::Chain(Chain {
            thread: 7,
            resumed_by: 3,
            links: vec![0x7000, 0x8000],
            end: ChainEnd::Unknown,
        }),
        FromAgent::Owner(Owner { lock: 0x7000, class: 0x8000, field: "_gate".into(), is_static: true }),
    ]
}

fn from_host() -> Vec<FromHost> {
    let thread = LockLayout { list: WaitList::Thread { head: 0x4a8 }, index: 28, table: 0x5000 };
    let local = LockLayout { list: WaitList::Local { data: 0x3a0, head: 0x28 }, ..thread };
    vec![
        FromHost::Welcome([9; 16]),
        FromHost::Ask(Ask::Threads),
        FromHost::Ask(Ask::Stacks),
        FromHost::Leave,
        FromHost::Ask(Ask::HeapTypes),
        FromHost::Ask(Ask::Layouts(vec![1, 2])),
        FromHost::Ask(Ask::Objects),
        FromHost::Plan(plan(3)),
        FromHost::Ask(Ask::Read(vec![Range { address: 0x1000, length: 8 }, Range { address: 1, length: 0 }])),
        FromHost::Ask(Ask::Anchors),
        FromHost::Ask(Ask::Locks(thread)),
        FromHost::Ask(Ask::Owners(local)),
        FromHost::Ask(Ask::AsyncSample),
        FromHost::Ask(Ask::AsyncCensus),
        FromHost::Ask(Ask::HeapGraph(GraphAsk { way: GraphWay::Events, longest_ms: 5, look_ms: 6 })),
    ]
}

fn plan(entries: usize) -> Plan {
    Plan {
        samples: vec![Sample { address: 1, class: 2 }; entries],
        picks: vec![Pick { class: 3, bytes: 4, all: true, without: (5, 6) }; entries],
        follow: vec![Follow { class: 5, offset: 6 }; entries],
        elements: vec![7; entries],
    }
}

#[test]
fn a_long_plan_is_sent_in_parts_that_fit() {
    let whole = plan(2500);
    let parts = whole.clone().parts();
    assert_eq!(parts.len(), 3);
    let mut inbox = Inbox::default();
    let mut found = Plan::default();
    for part in parts {
        inbox.feed(&FromHost::Plan(part).encode());
        let Some(FromHost::Plan(part)) = inbox.message().unwrap() else { panic!("no plan") };
        found.samples.extend(part.samples);
        found.picks.extend(part.picks);
        found.follow.extend(part.follow);
        found.elements.extend(part.elements);
    }
    assert_eq!(found, whole);
}

fn drain<M: Message>(inbox: &mut Inbox) -> Vec<M> {
    std::iter::from_fn(|| inbox.message().expect("sound bytes")).collect()
}

#[test]
fn messages_come_back_however_the_stream_is_cut() {
    let bytes: Vec<u8> = from_agent().iter().flat_map(Message::encode).collect();
    for size in [1, 2, 7, 64, bytes.len()] {
        let mut inbox = Inbox::default();
        let mut found = Vec::new();
        for chunk in bytes.chunks(size) {
            inbox.feed(chunk);
            found.extend(drain::<FromAgent>(&mut inbox));
        }
        assert_eq!(found, from_agent(), "in chunks of {size}");
    }
    let mut inbox = Inbox::default();
    inbox.feed(&from_host().iter().flat_map(Message::encode).collect::<Vec<u8>>());
    assert_eq!(drain::<FromHost>(&mut inbox), from_host());
}

#[test]
fn orders_come_back_and_cut_orders_do_not() {
    let bytes = attach().encode();
    assert_eq!(Attach::decode(&bytes), Ok(attach()));
    for end in 0..bytes.len() {
        assert!(Attach::decode(&bytes[..end]).is_err());
    }
    assert!(!format!("{:?}", attach()).contains('1'), "the token must not be printed");
}

#[test]
fn a_deep_stack_is_cut_to_fit_and_says_so() {
    let stack = Stack {
        thread: ThreadEntry { id: 1, os: 2 },
        code: 0,
        cut: false,
        frames: vec![(1, 1); DEEPEST_STACK + 1],
    };
    let mut inbox = Inbox::default();
    inbox.feed(&FromAgent::Stack(stack).encode());
    let Some(FromAgent::Stack(found)) = inbox.message().unwrap() else { panic!("no stack") };
    assert!(found.cut);
    assert_eq!(found.frames.len(), DEEPEST_STACK);
}

#[test]
fn a_long_name_is_cut_at_a_character() {
    let long =
        Method { id: 1, token: 2, module: "ä".repeat(5000), class: String::new(), name: String::new() };
    let mut inbox = Inbox::default();
    inbox.feed(&FromAgent::Method(long).encode());
    let Some(FromAgent::Method(found)) = inbox.message().unwrap() else { panic!("no method") };
    assert_eq!(found.module, "ä".repeat(2048));
}

#[test]
fn every_class_is_known() {
    assert_eq!(Fault::of_class(class_id(None)), Some(None));
    for fault in Fault::ALL {
        assert_eq!(Fault::of_class(class_id(Some(fault))), Some(Some(fault)));
    }
    assert_eq!(Fault::of_class(class_id(None) + 200), None);
    assert_eq!(Fault::of_class(0), None);
}

#[test]
fn lengths_are_bounded() {
    for length in [0, u32::try_from(LONGEST_FRAME).unwrap() + 1, u32::MAX] {
        let mut inbox = Inbox::default();
        inbox.feed(&length.to_le_bytes());
        assert!(inbox.message::<FromAgent>().is_err());
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Attach::decode(&bytes);
        let mut framed = u32::try_from(bytes.len()).unwrap().to_le_bytes().to_vec();
        framed.extend(&bytes);
        for input in [&bytes, &framed] {
            let mut inbox = Inbox::default();
            inbox.feed(input);
            while let Ok(Some(_)) = inbox.message::<FromAgent>() {}
            let mut inbox = Inbox::default();
            inbox.feed(input);
            while let Ok(Some(_)) = inbox.message::<FromHost>() {}
        }
    }

    #[test]
    fn a_changed_byte_is_read_without_a_panic(which in 0usize..from_agent().len(), at in any::<prop::sample::Index>(), value: u8) {
        let mut bytes = from_agent()[which].encode();
        let at = at.index(bytes.len());
        bytes[at] = value;
        let mut inbox = Inbox::default();
        inbox.feed(&bytes);
        while let Ok(Some(_)) = inbox.message::<FromAgent>() {}
    }
}

#[test]
fn a_wish_for_too_much_memory_is_damage() {
    let wish = |ranges| FromHost::Ask(Ask::Read(ranges)).encode();
    let all = u32::try_from(MOST_BYTES - 4).unwrap();
    for (length, is_sound) in [(all, true), (all + 1, false)] {
        let mut inbox = Inbox::default();
        inbox.feed(&wish(vec![Range { address: 0, length }]));
        assert_eq!(inbox.message::<FromHost>().is_ok(), is_sound, "{length}");
    }
    let parts = vec![Some(vec![0; MOST_BYTES / MOST_RANGES - 4]); MOST_RANGES];
    assert!(FromAgent::Memory(parts).encode().len() <= LONGEST_FRAME);
}
