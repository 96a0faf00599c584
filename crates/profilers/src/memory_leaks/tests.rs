//! The report as users see it, and what is called a leak, from heaps that are made by hand.

use std::time::Duration;

use heap_collector::Assemblies;
use heap_graph::{Address, GraphBuilder, HeapGraph, PathTree, RootKind, ShortestPaths, TypeId};
use heap_reports::Look;
use model::{Confidence, Cost, Pauses, WindowEnd};

use super::SPEC;
use super::answer::{Growing, Seen, Sight, answer};
use super::leaks::{Blamed, Judge, Kind, Leak, Step};
use super::metadata::Metadata;
use super::places::Places;
use super::sites::{Limits, sites};
use crate::Settings;
use crate::about::About;
use crate::profiler::Answer;
use crate::specimen::{check, ids, report};

/// Nobody's files.
struct NoFiles;

impl Assemblies for NoFiles {
    fn bytes(&self, _: &str) -> Option<Vec<u8>> {
        None
    }
}

/// A heap that is built object by object, each with its references at once.
#[derive(Default)]
struct Heap {
    objects: Vec<(&'static str, u64, Vec<usize>)>,
    roots: Vec<(RootKind, Option<&'static str>, usize)>,
    dependent: Vec<(usize, usize)>,
}

impl Heap {
    fn object(&mut self, name: &'static str, bytes: u64, references: &[usize]) -> usize {
        self.objects.push((name, bytes, references.to_vec()));
        self.objects.len() - 1
    }

    fn root(&mut self, kind: RootKind, name: Option<&'static str>, object: usize) {
        self.roots.push((kind, name, object));
    }

    fn graph(&self) -> HeapGraph {
        let at = |object: usize| Address(0x1000 + object as u64 * 0x100);
        let mut builder = GraphBuilder::new();
        let mut types: Vec<(&str, TypeId)> = Vec::new();
        for (index, (name, bytes, references)) in self.objects.iter().enumerate() {
            let known = types.iter().find(|(known, _)| known == name).map(|(_, id)| *id);
            let id = known.unwrap_or_else(|| builder.add_type(name, None));
            types.push((name, id));
            let count = u32::try_from(references.len()).expect("few references");
            builder.object(at(index), id, *bytes, count).expect("an object");
        }
        for (_, _, references) in &self.objects {
            references.iter().for_each(|object| builder.reference(at(*object)).expect("a reference"));
        }
        for (key, value) in &self.dependent {
            builder.dependent_handle(at(*key), at(*value));
        }
        for (kind, name, object) in &self.roots {
            builder.root(*kind, *name, at(*object)).expect("a root");
        }
        builder.finish().expect("a graph")
    }
}

/// What two looks at a heap find, each made with a number of things.
fn found(make: impl Fn(usize) -> Heap, counts: &[usize]) -> Vec<Leak> {
    let mut places = Places::default();
    let mut last = None;
    for &count in counts {
        let look = Look::with_paths(make(count).graph(), ShortestPaths::from_lasting_roots);
        places.add(&look.graph, &PathTree::of(&look.graph, &look.paths));
        last = Some(look);
    }
    let last = last.expect("a look");
    let limits = Limits { bytes: 10_000, objects: 20, large: 1_000_000 };
    let mut judge = Judge { places: &places, last: &last, metadata: Metadata::new(&NoFiles) };
    sites(&places, &limits).iter().map(|site| judge.leak(site)).collect()
}

const LIST: &str = "System.Collections.Generic.List<Shop.Order>";

fn list(orders: usize) -> Heap {
    let mut heap = Heap::default();
    let all: Vec<usize> = (0..orders)
        .map(|_| {
            let document = heap.object("System.Byte[]", 1000, &[]);
            heap.object("Shop.Order", 40, &[document])
        })
        .collect();
    let array = heap.object("Shop.Order[]", 8 * orders as u64, &all);
    let list = heap.object(LIST, 32, &[array]);
    heap.root(RootKind::StaticField, Some("Shop.History.s_orders"), list);
    heap
}

#[test]
fn a_list_that_grows_is_found_with_its_field() {
    let leaks = found(list, &[100, 400]);
    let [leak] = &leaks[..] else { panic!("{leaks:?}") };
    assert_eq!((leak.kind.clone(), leak.what.as_str()), (Kind::Collection, "Shop.Order"));
    assert_eq!(leak.blamed, Blamed::Field("Shop.History.s_orders".to_owned()));
    assert_eq!(leak.collection.as_deref(), Some(LIST));
    assert_eq!(leak.objects, [100, 400]);
    assert!(leak.rises && leak.is_named);
    assert_eq!(leak.retained, 400 * 1040);
}

#[test]
fn a_method_that_is_at_the_list_does_not_hide_the_field() {
    let used = |orders: usize| {
        let mut heap = list(orders);
        if orders > 100 {
            // The list itself, nearer to the orders than the field.
            let array = heap.objects.len() - 2;
            heap.root(RootKind::Local, Some("thread main (1), Shop.Intake.Run"), array);
        }
        heap
    };
    let leaks = found(used, &[100, 400]);
    let [leak] = &leaks[..] else { panic!("{leaks:?}") };
    assert_eq!(leak.blamed, Blamed::Field("Shop.History.s_orders".to_owned()));
    assert_eq!(leak.objects, [100, 400]);
}

#[test]
fn what_stays_or_shrinks_is_no_leak() {
    assert_eq!(found(list, &[400, 400]), []);
    assert_eq!(found(list, &[400, 100]), []);
    let up_and_down = found(list, &[100, 500, 400]);
    assert!(up_and_down.iter().all(|leak| !leak.rises), "{up_and_down:?}");
}

#[test]
fn handlers_of_an_event_are_told_with_event_and_subscriber() {
    let publisher = |views: usize| {
        let mut heap = Heap::default();
        let handlers: Vec<usize> = (0..views)
            .map(|_| {
                let bitmap = heap.object("System.Byte[]", 2000, &[]);
                let view = heap.object("Desk.View", 48, &[bitmap]);
                heap.object("System.Action<System.Decimal>", 64, &[view])
            })
            .collect();
        let all = heap.object("System.Object[]", 16 + 8 * views as u64, &handlers);
        let event = heap.object("System.Action<System.Decimal>", 64, &[all]);
        heap.root(RootKind::StaticField, Some("Desk.Board.PriceChanged"), event);
        heap
    };
    let leaks = found(publisher, &[50, 200]);
    let [leak] = &leaks[..] else { panic!("{leaks:?}") };
    let event = "Desk.Board.PriceChanged".to_owned();
    assert_eq!(leak.kind, Kind::EventHandlers { event: event.clone(), subscriber: "Desk.View".to_owned() });
    assert_eq!(leak.blamed, Blamed::Field(event));
}

#[test]
fn timers_are_told_by_what_they_keep_alive() {
    let queue = |sessions: usize| {
        let mut heap = Heap::default();
        let mut next = None;
        for _ in 0..sessions {
            let session = heap.object("Web.Session", 2000, &[]);
            let callback = heap.object("System.Threading.TimerCallback", 64, &[session]);
            let links: Vec<usize> = std::iter::once(callback).chain(next).collect();
            next = Some(heap.object("System.Threading.TimerQueueTimer", 96, &links));
        }
        let queue = heap.object("System.Threading.TimerQueue", 80, &next.into_iter().collect::<Vec<_>>());
        heap.root(RootKind::StaticField, Some("System.Threading.TimerQueue.Instances"), queue);
        heap
    };
    let leaks = found(queue, &[30, 300]);
    let [leak] = &leaks[..] else { panic!("{leaks:?}") };
    assert_eq!(
        (leak.kind.clone(), leak.blamed.clone()),
        (Kind::Timers, Blamed::Type("Web.Session".to_owned()))
    );
}

#[test]
fn values_of_a_weak_table_are_told_with_their_key() {
    let table = |notes: usize| {
        let mut heap = Heap::default();
        let notes: Vec<usize> = (0..notes).map(|_| heap.object("Crm.Note", 500, &[])).collect();
        let array = heap.object("Crm.Note[]", 16, &notes);
        let history = heap.object("Crm.History", 24, &[array]);
        let customer = heap.object("Crm.Customer", 24, &[]);
        heap.root(RootKind::StaticField, Some("Crm.Office.s_customer"), customer);
        heap.dependent.push((customer, history));
        let table = heap.object(
            "System.Runtime.CompilerServices.ConditionalWeakTable<Crm.Customer, Crm.History>",
            40,
            &[],
        );
        heap.root(RootKind::StaticField, Some("Crm.Notes.s_histories"), table);
        heap
    };
    let leaks = found(table, &[30, 300]);
    let [leak] = &leaks[..] else { panic!("{leaks:?}") };
    let table = Some("Crm.Notes.s_histories".to_owned());
    assert_eq!(leak.kind, Kind::WeakTable { table, key: "Crm.Customer".to_owned() });
}

#[test]
fn growth_inside_of_constant_objects_is_told_where_it_is() {
    // Twenty sessions more, but a hundred times the orders in one of them.
    let sessions = |step: usize| {
        let mut heap = Heap::default();
        let orders: Vec<usize> = (0..100 * step).map(|_| heap.object("Shop.Order", 1000, &[])).collect();
        let array = heap.object("Shop.Order[]", 16, &orders);
        let mut all: Vec<usize> = (0..20 * step).map(|_| heap.object("Web.Session", 30, &[])).collect();
        all.push(heap.object("Web.Session", 30, &[array]));
        let sessions = heap.object("Web.Session[]", 16, &all);
        heap.root(RootKind::StaticField, Some("Web.Host.s_sessions"), sessions);
        heap
    };
    let leaks = found(sessions, &[0, 2]);
    assert_eq!(leaks.first().map(|leak| leak.what.as_str()), Some("Shop.Order"), "{leaks:?}");
}

#[test]
fn what_hangs_on_running_methods_needs_more_looks() {
    let method = |orders: usize| {
        let mut heap = Heap::default();
        let orders: Vec<usize> = (0..orders).map(|_| heap.object("Shop.Order", 1000, &[])).collect();
        let array = heap.object("Shop.Order[]", 16, &orders);
        heap.root(RootKind::Local, None, array);
        heap
    };
    let two = seen_of(found(method, &[30, 300]), 2);
    assert_eq!(ids(&report(&SPEC, answered(&two))), Vec::<&str>::new());
    let four = seen_of(found(method, &[30, 300, 500, 700]), 4);
    assert_eq!(ids(&report(&SPEC, answered(&four))), ["memory-leak"]);
}

fn seen_of(leaks: Vec<Leak>, looks: u64) -> Seen {
    let sight = |look: u64| Sight {
        at: Duration::from_secs(10 * look),
        objects: 33_715 + look * 6_000,
        bytes: 22_200_000 + look * 12_700_000,
        garbage: 0,
        pause: Some(Duration::from_millis(24)),
    };
    let orders = Growing {
        name: "Shop.Order".to_owned(),
        more_objects: 5_893,
        more_bytes: 235_720,
        more_retained: 12_700_000,
        objects: 15_960,
        retained: 34_400_000,
    };
    let bytes = Growing {
        name: "System.Byte[]".to_owned(),
        more_bytes: 12_200_000,
        more_retained: 12_200_000,
        retained: 33_000_000,
        ..orders.clone()
    };
    Seen {
        window: Duration::from_secs(10 * (looks - 1)),
        sights: (0..looks).map(sight).collect(),
        growing: vec![orders, bytes],
        leaks,
    }
}

fn answered(seen: &Seen) -> Answer {
    let about = About {
        cost: Cost {
            method: "heap events over the runtime's diagnostics socket, 1 forced collection, at each look".to_owned(),
            pauses: Pauses { count: 2, total_ns: 48_000_000, longest_ns: 26_000_000 },
            bytes: 7_300_000,
            ..Cost::default()
        },
        notes: vec!["the heap of 39,715 objects was taken by heap events over the runtime's diagnostics socket; the process stood still for 26 ms; one full collection was forced".to_owned()],
        measured: Duration::from_secs(10),
        end: WindowEnd::Completed,
    };
    let settings = Settings::new(&SPEC, []).expect("defaults");
    answer(seen, about, &settings)
}

#[test]
fn the_report_is_as_users_know_it() {
    let step = |label: &str, objects: u64, more: u64| Step {
        label: label.to_owned(),
        names: vec![label.to_owned()],
        objects,
        more,
    };
    let orders = Leak {
        kind: Kind::Collection,
        what: "Shop.Order".to_owned(),
        blamed: Blamed::Field("Shop.OrderHistory.s_orders".to_owned()),
        collection: Some(LIST.to_owned()),
        objects: vec![10_067, 15_960],
        bytes: vec![21_700_000, 34_400_000],
        retained: 34_400_000,
        way: vec![
            step("static Shop.OrderHistory.s_orders", 0, 0),
            step(LIST, 1, 0),
            step("Shop.Order[]", 1, 0),
            step("Shop.Order", 15_960, 5_893),
        ],
        rises: true,
        hangs_on_locals: false,
        is_named: true,
        swells: false,
    };
    let views = Leak {
        kind: Kind::EventHandlers {
            event: "Desk.QuoteBoard.PriceChanged".to_owned(),
            subscriber: "Desk.QuoteView".to_owned(),
        },
        what: "Desk.QuoteView".to_owned(),
        blamed: Blamed::Field("Desk.QuoteBoard.PriceChanged".to_owned()),
        collection: None,
        objects: vec![120, 180],
        bytes: vec![3_900_000, 5_900_000],
        retained: 5_900_000,
        way: vec![
            step("static Desk.QuoteBoard.PriceChanged", 0, 0),
            step("System.Action<System.Decimal> *", 181, 60),
            step("Desk.QuoteView", 180, 60),
        ],
        rises: true,
        hangs_on_locals: false,
        is_named: true,
        swells: false,
    };
    let report = report(&SPEC, answered(&seen_of(vec![orders, views], 2)));
    assert_eq!(ids(&report), ["memory-leak", "event-handler-leak"]);
    assert!(report.findings.iter().all(|finding| finding.confidence == Confidence::Medium));
    check(&report);
}
