//! The report as users see it, from fixed observations.

use std::time::Duration;

use model::{Cost, Redaction, Report, WindowEnd};

use super::SPEC;
use super::answer::answer;
use super::watch::{Fatal, Said, Thrown, Throws};
use crate::Settings;
use crate::about::About;
use crate::specimen::{self, frame, frame_at, ids};

const CORE: &str = "/dotnet/System.Private.CoreLib.dll";
const SHOP: &str = "/app/Shop.Api.dll";

fn about() -> About {
    About {
        measured: Duration::from_secs(5),
        end: WindowEnd::Completed,
        cost: Cost { method: "events".into(), bytes: 3_600_000, events: 72_000, ..Cost::default() },
        notes: Vec::new(),
    }
}

fn storm() -> Thrown {
    let parse = vec![
        frame("System.Runtime.EH.DispatchEx", CORE),
        frame("System.Number.ThrowFormatException", CORE),
        frame("System.Int32.Parse", CORE),
        frame_at("Shop.Import.PriceFeed.ParseAmount", SHOP, "/src/Shop/PriceFeed.cs", 54),
        frame_at("Shop.Import.PriceFeed.ReadRow", SHOP, "/src/Shop/PriceFeed.cs", 38),
    ];
    let cache = vec![frame_at("Shop.Cache.Get", SHOP, "/src/Shop/Cache.cs", 12)];
    let throws = |count, caught| Throws { count, caught, dispatch_ns: caught * 14_000, ..Throws::default() };
    Thrown {
        throws: vec![
            ("System.FormatException".into(), parse, throws(17_990, 17_989)),
            (
                "System.Collections.Generic.KeyNotFoundException".into(),
                cache,
                Throws { rethrown: 5, ..throws(10, 10) },
            ),
        ],
        messages: vec![
            Said {
                type_name: "System.FormatException".into(),
                message: "The input string '#,# EUR' was not in a correct format.".into(),
                place: Some("Shop.Import.PriceFeed.ParseAmount:54".into()),
                count: 17_990,
            },
            Said {
                type_name: "System.Collections.Generic.KeyNotFoundException".into(),
                message: "The given key '\u{1b}[2Jorder' was not present in the dictionary.".into(),
                place: Some("Shop.Cache.Get:12".into()),
                count: 10,
            },
        ],
        handlers: vec![
            (frame_at("Shop.Import.PriceFeed.ReadRow", SHOP, "/src/Shop/PriceFeed.cs", 38), 17_989),
            (frame("Shop.Orders.Add", SHOP), 10),
        ],
        ..Thrown::default()
    }
}

fn report(thrown: &Thrown, about: &About) -> Report {
    let settings = Settings::new(&SPEC, []).expect("defaults");
    specimen::report(&SPEC, answer(thrown, about, &settings))
}

#[test]
fn the_report_is_as_users_know_it() {
    let report = report(&storm(), &about());
    assert_eq!(ids(&report), ["exception-storm"]);
    let culprit = report.findings[0].culprit.as_ref().unwrap();
    assert_eq!((culprit.name.as_str(), culprit.line), ("Shop.Import.PriceFeed.ParseAmount", Some(54)));
    specimen::check(&report);
}

#[test]
fn a_few_exceptions_are_no_storm() {
    let mut few = storm();
    few.throws[0].2.count = 400;
    let report = report(&few, &about());
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert!(
        report.summary.starts_with("410 exceptions in 5 s (82 a second), 98 % System.FormatException in "),
        "{}",
        report.summary
    );
}

#[test]
fn a_burst_in_a_short_window_is_no_storm() {
    let mut few = storm();
    few.throws.truncate(1);
    few.throws[0].2.count = 60;
    let short = About { measured: Duration::from_millis(100), ..about() };
    assert!(report(&few, &short).findings.is_empty());
}

#[test]
fn silence_is_an_answer() {
    let report = report(&Thrown::default(), &about());
    assert_eq!(report.summary, "No exception was thrown in 5 s.");
    assert!(report.findings.is_empty() && report.sections.is_empty());
}

#[test]
fn what_ends_the_process_is_named() {
    let fatal = Fatal {
        type_name: "System.InvalidOperationException".into(),
        message: "no price".into(),
        frames: vec![frame("Shop.Pricing.Price", SHOP)],
    };
    let thrown = Thrown { last_in_flight: Some(fatal), ..storm() };
    let ended = About { end: WindowEnd::TargetExited, ..about() };
    assert_eq!(ids(&report(&thrown, &ended)), ["unhandled-exception", "exception-storm"]);
    assert_eq!(ids(&report(&thrown, &about())), ["exception-storm"]);
}

#[test]
fn redacted_messages_are_hidden_wherever_they_would_stand() {
    let fatal = Fatal {
        type_name: "System.InvalidOperationException".into(),
        message: "no price for user 4711".into(),
        frames: vec![frame("Shop.Pricing.Price", SHOP)],
    };
    let thrown = Thrown { last_in_flight: Some(fatal), ..storm() };
    let ended = About { end: WindowEnd::TargetExited, ..about() };
    let settings = Settings::new(&SPEC, []).expect("defaults").with_redaction(Redaction::On);
    let report = specimen::report(&SPEC, answer(&thrown, &ended, &settings));
    let text = format!("{report:?}");
    for message in ["input string", "given key", "4711"] {
        assert!(!text.contains(message), "{message}: {text}");
    }
    let hidden = Redaction::On.text("no price for user 4711");
    assert!(text.contains(&hidden), "{text}");
}
