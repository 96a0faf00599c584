//! The report as users see it, and what is called too many, from fixed observations.

use std::time::Duration;

use agent_host::{HeapObjects, Object};
use model::{Confidence, CulpritKind, Pauses, WindowEnd};
use task_graph::{Layout, Type, TypeId, Types};

use super::SPEC;
use super::answer::answer;
use super::heap::{Alike, Call, TimerQueues, What, timers};
use super::judge::{Group, Kind, Seen};
use crate::Settings;
use crate::about::About;
use crate::inside::objects::Wish;
use crate::profiler::Answer;
use crate::specimen::{agent_cost, check, frame, frame_at, ids, report};

fn about() -> About {
    About {
        cost: agent_cost(Pauses { count: 3, total_ns: 29_000_000, longest_ns: 14_000_000 }, 900_000, 6),
        notes: Vec::new(),
        measured: Duration::from_secs(5),
        end: WindowEnd::Completed,
    }
}

fn group(kind: Kind, name: &str, before: u64, now: u64) -> Group {
    Group {
        kind,
        frame: frame(name, "Shop.Api"),
        method: true,
        period: Some(30_000),
        state: None,
        due: (30_000, 30_000),
        before,
        now,
    }
}

fn seen(groups: Vec<Group>) -> Seen {
    Seen { groups, window: Duration::from_secs(5), understood: true, ..Seen::default() }
}

fn asked(groups: Vec<Group>, settings: &[&str]) -> Answer {
    answer(&seen(groups), about(), &Settings::new(&SPEC, settings.iter().copied()).expect("settings"))
}

#[test]
fn the_report_looks_as_accepted() {
    let renewals = Group {
        frame: frame_at("Shop.Session.Renew", "Shop.Api", "src/Session.cs", 41),
        ..group(Kind::Call, "", 2304, 3584)
    };
    let watches = Group {
        method: false,
        state: Some("Shop.Ticket".to_owned()),
        due: (200, 1000),
        period: Some(1000),
        ..group(Kind::Elapsed, "Shop.Watch", 1500, 1500)
    };
    let delays =
        Group { period: None, due: (5, 60_000), ..group(Kind::Delay, "Shop.Feed.PollAsync", 12, 11) };
    let cancels = Group {
        period: None,
        frame: frame("CancellationTokenSource.CancelAfter", ""),
        due: (100_000, 100_000),
        ..group(Kind::Cancel, "", 3, 4)
    };
    let report = report(&SPEC, asked(vec![renewals, watches, delays, cancels], &[]));
    assert_eq!(ids(&report), ["timer-leak", "timer-leak"]);
    assert_eq!(report.findings[0].confidence, Confidence::High);
    assert_eq!(report.findings[1].culprit.as_ref().expect("a culprit").kind, CulpritKind::Type);
    check(&report);
}

#[test]
fn a_few_timers_are_no_illness_and_neither_are_waits_that_come_and_go() {
    let answer = asked(
        vec![
            group(Kind::Delay, "Shop.Feed.PollAsync", 900, 1800),
            group(Kind::Cancel, "CancelAfter", 4000, 5000),
            group(Kind::Call, "Shop.Cache.Sweep", 1, 1),
            group(Kind::Call, "Shop.Cache.Refresh", 99, 110),
            group(Kind::Tick, "PeriodicTimer", 5, 50),
        ],
        &[],
    );
    assert!(answer.findings.is_empty(), "{:?}", answer.findings);
    assert!(answer.notes.iter().any(|note| note.contains("no illness by itself")));
}

#[test]
fn growth_and_great_numbers_are_told_apart() {
    let of = |kind, before, now, settings: &[&str]| {
        let found = asked(vec![group(kind, "Shop.A.Tick", before, now)], settings).findings;
        found.first().map(|finding| finding.confidence)
    };
    assert_eq!(of(Kind::Call, 100, 150, &[]), Some(Confidence::High));
    assert_eq!(of(Kind::Call, 1200, 1200, &[]), Some(Confidence::Medium));
    assert_eq!(of(Kind::Call, 1200, 1200, &["least=2000"]), None);
    assert_eq!(of(Kind::Delay, 12_000, 12_000, &[]), Some(Confidence::Medium));
    assert_eq!(of(Kind::Delay, 1200, 1200, &[]), None);
}

#[test]
fn looks_that_are_close_together_prove_no_growth() {
    let mut seen = seen(vec![group(Kind::Call, "Shop.A.Tick", 100, 150)]);
    seen.window = Duration::from_millis(100);
    let answer = answer(&seen, about(), &Settings::new(&SPEC, []).expect("settings"));
    assert!(answer.findings.is_empty());
    assert!(answer.notes.iter().any(|note| note.contains("--duration")));
}

#[test]
fn nothing_set_and_nothing_understood_are_said() {
    let settings = Settings::new(&SPEC, []).expect("settings");
    let answer = answer(&Seen::default(), about(), &settings);
    assert_eq!(answer.summary, "No timer is set.");
    assert!(answer.notes.iter().any(|note| note.contains("fields of timers")));
}

const TIMER: TypeId = TypeId(0x100);
const CALLBACK: TypeId = TypeId(0x200);
const SESSION: TypeId = TypeId(0x300);
const SOURCE: TypeId = TypeId(0x400);
const CLOSURE: TypeId = TypeId(0x500);

fn types(prefix: &str) -> Types {
    let mut types = Types::default();
    let mut add = |id: TypeId, name: &str, module: &str, fields: &[(u32, &str)]| {
        let described =
            Type { name: name.to_owned(), module: module.to_owned(), count: 1, ..Type::default() };
        types.add(id, described);
        let fields = fields.iter().map(|(at, name)| (*at, format!("{prefix}{name}"))).collect();
        types.add_layout(id, Layout { fields, move_next: 0 });
    };
    let library = "/dotnet/System.Private.CoreLib.dll";
    let timer = [(8, "state"), (16, "timerCallback"), (24, "dueTime"), (28, "period")];
    add(TIMER, "System.Threading.TimerQueueTimer", library, &timer);
    let delegate = [(8, "target"), (24, "methodPtr"), (32, "methodPtrAux")];
    add(CALLBACK, "System.Threading.TimerCallback", library, &delegate);
    add(SESSION, "Shop.Session", "/app/Shop.dll", &[]);
    add(SOURCE, "System.Threading.CancellationTokenSource", library, &[]);
    add(CLOSURE, "System.Threading.CancellationTokenSource+<>c", library, &[]);
    types
}

fn object(address: u64, id: TypeId, words: &[u64]) -> Object {
    let bytes = std::iter::once(&id.0).chain(words).flat_map(|word| word.to_le_bytes()).collect();
    Object { address, class: id.0, bytes }
}

#[test]
fn timers_are_read_by_what_they_call() {
    for prefix in ["_", "m_"] {
        let types = types(prefix);
        let look = TimerQueues.plan(&types).expect("a plan");
        assert_eq!(look.picks.len(), 2);
        assert_eq!(look.picks[0].without, (24, 0x8000_0000));
        let (once, never) = (u64::from(u32::MAX) << 32, u64::MAX);
        let every = (1000 << 32) | 500;
        let objects = vec![
            object(0x1000, TIMER, &[0, 0x2000, every]),
            object(0x1100, TIMER, &[0, 0x2000, every + 20]),
            object(0x1200, TIMER, &[0x4000, 0x2100, once | 9000]),
            object(0x1300, TIMER, &[0, 0x2200, once | 7]),
            object(0x1400, TIMER, &[0, 0x2000, never]),
            object(0x1500, TIMER, &[0, 0x9999, every]),
            object(0x2000, CALLBACK, &[0x3000, 0, 0xC0DE, 0]),
            object(0x2100, CALLBACK, &[0x5000, 0, 0xC1DE, 0]),
            object(0x2200, CALLBACK, &[0x2200, 0, 0xFFFF, 0xC2DE]),
            object(0x3000, SESSION, &[]),
            object(0x4000, SOURCE, &[]),
            object(0x5000, CLOSURE, &[]),
        ];
        let found = timers(&types, HeapObjects { objects, ..HeapObjects::default() });
        let call = |target, code| What::Call(Call { target, code, state: None });
        let expected = [
            ((What::Cancel, None), Alike { count: 1, due: (9000, 9000) }),
            ((call(Some(SESSION), 0xC0DE), Some(1000)), Alike { count: 2, due: (500, 520) }),
            ((call(None, 0xC2DE), None), Alike { count: 1, due: (7, 7) }),
        ];
        assert_eq!(found, expected.into_iter().collect());
    }
}
