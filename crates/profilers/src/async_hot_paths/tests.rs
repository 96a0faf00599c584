//! The report as users see it, from fixed observations.

use std::time::Duration;

use model::{Cost, Pauses, Report, WindowEnd};

use super::SPEC;
use super::answer::{About, answer};
use super::collect::Spent;
use super::paths::{InFlight, Path, Paths, Step};
use crate::Settings;
use crate::shortage::Shortage;
use crate::specimen::{self, frame, frame_at, ids};

const SHOP: &str = "/app/Shop.Api.dll";
const MS: u64 = 1_000_000;

fn asynchronous(name: &str) -> Step {
    Step { frame: frame(name, SHOP), is_async: true }
}

fn path(steps: &[&str], cpu_ms: u64, looks: u64) -> Path {
    let mut steps: Vec<Step> = steps.iter().map(|name| asynchronous(name)).collect();
    if steps.last().is_some_and(|last| last.frame.name.ends_with("SimulateAsync")) {
        if let Some(last) = steps.last_mut() {
            last.frame = frame_at("Shop.Model.SimulateAsync", SHOP, "/src/Shop/Model.cs", 31);
        }
        steps.push(Step { frame: frame("Shop.Model.Walk", SHOP), is_async: false });
    }
    Path { steps, spent: Spent { cpu_ns: cpu_ms * MS, blocked_ns: 0, looks } }
}

fn hot() -> Paths {
    let mut waiting = path(&["Shop.Mail.RunAsync", "Shop.Mail.SendAsync"], 3, 1);
    waiting.spent.blocked_ns = 900 * MS;
    Paths {
        paths: vec![
            path(
                &["Shop.Api.QuoteAsync", "Shop.Quotes.ScenariosAsync", "Shop.Model.SimulateAsync"],
                6_000,
                230,
            ),
            path(&["Shop.Api.AuditAsync", "Shop.Model.SimulateAsync"], 2_000, 77),
            path(&["Shop.Api.QuoteAsync", "Shop.Quotes.ScenariosAsync"], 120, 4),
            waiting,
        ],
        not_async: Spent { cpu_ns: 210 * MS, ..Spent::default() },
        lost: Spent::default(),
        elsewhere: Spent { cpu_ns: 120 * MS, ..Spent::default() },
        process_cpu_ns: 8_400 * MS,
        unseen_cpu_ns: 67 * MS,
        looks: 390,
        in_flight: Some(vec![
            waits(&["Shop.Api.QuoteAsync"], 1.0),
            waits(&["Shop.Api.QuoteAsync", "Shop.Quotes.ScenariosAsync"], 0.75),
            waits(&["Shop.Api.QuoteAsync", "Shop.Quotes.ScenariosAsync", "Shop.Model.SimulateAsync"], 0.7),
            waits(&["Shop.Api.AuditAsync", "Shop.Model.SimulateAsync"], 0.2),
            waits(&["Shop.Orders.ListenAsync", "System.Net.Sockets.Socket.ReceiveAsync"], 24.0),
        ]),
        shortcoming: None,
    }
}

fn waits(steps: &[&str], mean: f64) -> InFlight {
    InFlight { steps: steps.iter().map(|name| asynchronous(name)).collect(), mean }
}

fn report(paths: &Paths) -> Report {
    let about = About {
        cost: Cost {
            method: "an agent".into(),
            pauses: Pauses { count: 390, total_ns: 78 * MS, longest_ns: MS },
            bytes: 4_000_000,
            events: 390,
            ..Cost::default()
        },
        notes: Vec::new(),
        measured: Duration::from_secs(10),
        end: WindowEnd::Completed,
        shortage: Shortage::default(),
    };
    let settings = Settings::new(&SPEC, []).expect("defaults");
    specimen::report(&SPEC, answer(paths, about, &settings))
}

#[test]
fn the_report_is_as_users_know_it() {
    let report = report(&hot());
    assert_eq!(ids(&report), ["async-hot-path"]);
    assert_eq!(report.findings[0].culprit.as_ref().unwrap().name, "Shop.Model.SimulateAsync");
    specimen::check(&report);
}

#[test]
fn a_process_with_much_else_to_do_has_no_hot_path() {
    let mut paths = hot();
    paths.process_cpu_ns *= 2;
    assert!(report(&paths).findings.is_empty());
}

#[test]
fn an_idle_process_has_an_answer() {
    let report = report(&Paths { looks: 390, ..Paths::default() });
    assert_eq!(report.summary, "No async method was seen using the CPU in 10 s.");
    assert!(report.findings.is_empty() && report.sections.is_empty());
}
