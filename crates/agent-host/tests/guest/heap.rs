//! What the agent tells of the heap.

use std::collections::HashMap;

use agent_host::{AgentError, Follow, HeapType, Layout, Pick, Plan, Sample};
use testbed::Runtime;

use crate::support::Guest;

/// Of a task's state: it has ended, in one way or another.
const COMPLETED: u32 = 0x0160_0000;

/// The type of a method table, by its name.
fn named<'a>(types: &'a [HeapType], name: &str) -> &'a HeapType {
    types.iter().find(|found| found.name == name).unwrap_or_else(|| panic!("no type {name}"))
}

fn word(bytes: &[u8], offset: usize) -> u64 {
    bytes.get(offset..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u64::from_le_bytes(*word))
}

fn offset(layout: &Layout, name: &str) -> u16 {
    let field = layout.fields.iter().find(|field| field.name == name).expect("a field");
    u16::try_from(field.offset).expect("a small offset")
}

#[test]
fn types_fields_and_objects_of_the_heap() {
    for runtime in [Runtime::Net9, Runtime::Net10] {
        let guest = Guest::of("stuck-tasks", runtime);
        let mut attached = guest.attach().expect("the agent comes");
        assert!(attached.walks_heap());
        let found = attached.heap_types(Vec::new()).expect("types");
        println!("{runtime}: {} types, {:?}, {} left out", found.types.len(), found.pause, found.left_out);
        let task = named(&found.types, "System.Threading.Tasks.Task");
        let text = named(&found.types, "System.String");
        assert!(text.count > 100, "{text:?}");
        let by_id: HashMap<u64, &HeapType> = found.types.iter().map(|it| (it.id, it)).collect();
        assert_eq!(by_id[&text.parent].name, "System.Object");

        // A class that nobody told of is not asked about: it would crash the target.
        let layouts = attached.layouts(&[task.id, 0x1234, text.id + 8]).expect("layouts");
        assert_eq!(layouts.len(), 1, "{layouts:?}");
        let continuation = offset(&layouts[0], "m_continuationObject");
        let flags = offset(&layouts[0], "m_stateFlags");
        assert!(continuation >= 8);

        // Every pending task leads to what goes on after it.
        let is_task = |mut class: u64| {
            while let Some(found) = by_id.get(&class).filter(|_| class != task.id) {
                class = found.parent;
            }
            class == task.id
        };
        let tasks: Vec<u64> = found.types.iter().map(|it| it.id).filter(|&id| is_task(id)).collect();
        let pick = |&class| Pick { class, bytes: 64, all: true, without: (flags, COMPLETED) };
        let plan = Plan {
            picks: tasks.iter().map(pick).collect(),
            follow: tasks.iter().map(|&class| Follow { class, offset: continuation }).collect(),
            ..Plan::default()
        };
        let objects = attached.objects(plan).expect("objects");
        println!("{} objects, {:?}", objects.objects.len(), objects.pause);
        let pending: Vec<_> =
            objects.objects.iter().filter(|it| tasks.contains(&it.class) && !it.bytes.is_empty()).collect();
        assert!(!pending.is_empty());
        for object in &pending {
            assert_eq!(word(&object.bytes, 0) & !7, object.class, "it begins with its type");
            let next = word(&object.bytes, usize::from(continuation));
            assert!(next == 0 || objects.objects.iter().any(|other| other.address == next));
        }
        assert!(attached.leave().expect("it leaves").confirmed);
        guest.can_be_visited();
    }
}

/// Addresses and types that lead nowhere are left out; nothing is harmed by them.
#[test]
fn wrong_samples_do_no_harm() {
    for runtime in Runtime::ALL {
        let guest = Guest::quiet(runtime);
        let mut attached = guest.attach().expect("the agent comes");
        let nowhere: Vec<Sample> = [0, 1, 8, 4096, 0x7FFF_FFFF_F000, !7, u64::MAX]
            .map(|address| Sample { address, class: 0xDEAD_BEE8 })
            .into();
        let types = attached.heap_types(nowhere.clone()).expect("an answer");
        assert_eq!((types.types.len(), types.left_out), (0, 7));
        let plan = Plan {
            samples: nowhere,
            picks: vec![Pick { class: 0xDEAD_BEE8, bytes: u16::MAX, all: true, without: (u16::MAX, 1) }],
            follow: vec![Follow { class: 0xDEAD_BEE8, offset: u16::MAX }],
            elements: vec![0, 0xDEAD_BEE8],
        };
        assert!(attached.objects(plan).expect("an answer").objects.is_empty());
        assert!(attached.leave().expect("it leaves").confirmed);
        guest.can_be_visited();
    }
}

#[test]
fn an_old_runtime_says_that_it_cannot_walk() {
    for runtime in [Runtime::Net31, Runtime::Net8] {
        let guest = Guest::quiet(runtime);
        let mut attached = guest.attach().expect("the agent comes");
        assert!(!attached.walks_heap());
        let error = attached.heap_types(Vec::new()).expect_err("it has no walk");
        assert!(matches!(error, AgentError::Refused { .. }), "{error}");
        assert!(attached.leave().expect("it leaves").confirmed);
        guest.can_be_visited();
    }
}
