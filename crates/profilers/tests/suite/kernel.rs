//! `cpu` and `off-cpu` on real programs.

use std::time::{Duration, Instant};

use crate::support::{ids, look, look_until, number, process, rows};
use kernel_collector::{Collecting, Recorded, Target as Recording};
use model::{FrameKind, Report, WindowEnd};
use perf_sampler::{Granted, OffCpu, Wake};
use profilers::Settings;
use profilers::kernel::{Picture, report, request};
use stacks::Profile;
use testbed::{Runtime, Target};

/// Records until there are so many samples of running threads and stacks of waiting ones, and reports.
fn record(target: &Target, picture: Picture, typed: &[&str], samples: u64) -> (Recorded, Report) {
    /// Longer than any machine needs that is not stuck.
    const PATIENCE: Duration = Duration::from_secs(120);
    let settings = Settings::new(picture.spec(), typed.iter().copied()).expect("the settings");
    let process = process(target);
    let request = request(picture, vec![Recording::from(&process)], &settings);
    let mut collecting = Collecting::start(request).expect("root may sample");
    let begin = Instant::now();
    loop {
        let counts = collecting.counts();
        let waits = match gives_stacks(collecting.granted()) {
            true => collecting.wait_stacks(),
            // A wait is looked at once, however long it lasts.
            false => counts.switches,
        };
        let enough = (picture == Picture::OffCpu || counts.on_cpu >= samples)
            && (picture == Picture::Cpu || waits >= samples);
        if enough {
            break;
        }
        assert!(begin.elapsed() < PATIENCE, "{counts:?}");
        let wake = collecting.wait(Duration::from_millis(100)).expect("it waits");
        assert_ne!(wake, Wake::TargetsEnded, "{}", target.stderr_text());
    }
    let recorded = collecting.finish();
    let report =
        report(picture, &process, &recorded, 0, &settings, Duration::from_secs(1), WindowEnd::Completed);
    (recorded, report)
}

/// Whether the kernel copies the stacks of waits. For an ordinary user it does not.
fn gives_stacks(granted: &Granted) -> bool {
    matches!(granted.off_cpu, Some(OffCpu::WithStacks(_)))
}

/// The time of a profile with one of these methods in its stack, in seconds.
fn time_in(profile: &Profile, methods: &[&str]) -> f64 {
    let has = |sample: &&stacks::Sample| {
        sample.stack.is_some_and(|stack| {
            profile
                .stack(stack)
                .any(|frame| methods.contains(&profile.frames[frame.0 as usize].name.as_str()))
        })
    };
    #[expect(clippy::cast_precision_loss, reason = "only to compare")]
    let ns = profile.samples.iter().filter(has).map(|sample| sample.weight).sum::<u64>() as f64;
    ns / 1e9
}

/// A hot method is found, with its place in the source; a loaded test machine may need several looks.
fn blames(patient: &str, method: &str, file: &str) {
    for runtime in testbed::two_of(&Runtime::ALL) {
        let target = testbed::shared().target(patient, runtime).start().expect("the patient starts");
        let report = look_until("cpu", &target, 2.0, &[], |report| ids(report) == ["hot-method"]);
        let culprit = report.findings[0].culprit.as_ref().expect("a culprit");
        assert_eq!(culprit.name, method, "{runtime}");
        assert!(culprit.file.as_deref().is_some_and(|found| found.ends_with(file)), "{runtime}: {culprit:?}");
        assert!(culprit.line.is_some(), "{runtime}: {culprit:?}");
        assert!(report.summary.starts_with(&format!("Most CPU: {method}")), "{runtime}: {}", report.summary);
        assert_eq!(report.cost.pauses.count, 0, "nothing is stopped");
        assert!(target.is_alive(), "{}", target.stderr_text());
    }
}

#[test]
fn a_hot_method_is_named_with_file_and_line() {
    blames("hot-method", "Pricing.DiscountBook.FindBest", "HotMethod.cs");
}

#[test]
fn time_in_the_framework_is_blamed_on_the_programs_own_method() {
    blames("regex-backtracking", "Accounts.EmailAddress.IsValid", "RegexBacktracking.cs");
}

/// The experiment: one route burns, the other blocks, each for 100 ms a request and with as many clients. A handler that
/// does nothing but call a route's method counts for it: small methods that keep no frame are not on the stack when
/// they call others.
fn two_routes(patient: &str, burn: &[&str], wait: &[&str]) {
    /// Looks at most: a loaded machine may take the processors away for a while.
    const LOOKS: usize = 6;
    /// How far the times on the wall may be apart, in per cent; without stacks from the kernel nobody knows where a thread
    /// waited for a processor.
    const APART: f64 = 20.0;
    const APART_WITHOUT_STACKS: f64 = 50.0;
    let patient = testbed::patients().iter().find(|known| known.id == patient).expect("the patient");
    for runtime in testbed::two_of(&patient.runtimes) {
        let target = testbed::shared().target(patient.id, runtime).start().expect("the patient starts");
        let mut seen = Vec::new();
        let settled = (0..LOOKS).any(|_| {
            let (recorded, report) = record(&target, Picture::Both, &["off-cpu=show", "rate=499"], 1500);
            let profiles = &recorded.processes[0].profiles;
            let on_cpu = [burn, wait].map(|route| time_in(&profiles.on_cpu, route));
            let wall = [burn, wait].map(|route| {
                [&profiles.on_cpu, &profiles.ready, &profiles.off_cpu]
                    .map(|profile| time_in(profile, route))
                    .iter()
                    .sum::<f64>()
            });
            let share = 100.0 * on_cpu[0] / (on_cpu[0] + on_cpu[1]);
            let apart = 100.0 * (wall[0] - wall[1]).abs() / wall[0].max(wall[1]);
            println!(
                "{} on {runtime}: on the CPU {share:.1} % burn; wall {:.1} s and {:.1} s, {apart:.0} % apart",
                patient.id, wall[0], wall[1]
            );
            assert!(report.summary.contains("Of their time, threads ran"), "{}", report.summary);
            seen.push((share, apart));
            let most = if gives_stacks(&recorded.granted) { APART } else { APART_WITHOUT_STACKS };
            share >= 95.0 && apart <= most
        });
        assert!(settled, "{} on {runtime}: {seen:?}", patient.id);
        assert!(target.is_alive(), "{}", target.stderr_text());
    }
}

#[test]
fn of_two_routes_one_has_the_cpu_and_both_have_the_time() {
    two_routes(
        "web-two-routes",
        &["Shop.Api.Checkout.Burn", "Shop.Api.Server.Run.(lambda 0)"],
        &["Shop.Api.Checkout.Wait", "Shop.Api.Server.Run.(lambda 1)"],
    );
}

#[test]
fn of_two_routes_of_aspnet_one_has_the_cpu_and_both_have_the_time() {
    two_routes(
        "aspnet-two-routes",
        &["Tickets.Api.Booking.Burn", "Tickets.Api.BoxOffice.Run.(lambda 0)"],
        &["Tickets.Api.Booking.Wait", "Tickets.Api.BoxOffice.Run.(lambda 1)"],
    );
}

#[test]
fn blocked_pool_threads_are_found_where_they_wait() {
    for runtime in Runtime::ALL {
        let target =
            testbed::shared().target("pool-starvation", runtime).start().expect("the patient starts");
        let report = look_until("off-cpu", &target, 2.0, &[], |report| ids(report) == ["sync-over-async"]);
        let culprit = report.findings[0].culprit.as_ref().expect("a culprit");
        assert_eq!(culprit.name, "Catalog.PriceService.GetPrice", "{runtime}");
        assert!(culprit.line.is_some(), "{runtime}: {culprit:?}");
        let waits = rows(&report, "waits");
        assert!(waits.iter().any(|row| row[0] == "waits for a task".into()), "{runtime}: {waits:?}");
    }
}

#[test]
fn idle_threads_are_folded_away_until_they_are_asked_for() {
    let target =
        testbed::shared().target("web-two-routes", Runtime::Net9).start().expect("the patient starts");
    let kinds =
        |report: &Report| -> Vec<String> { rows(report, "waits").iter().map(|row| text(&row[0])).collect() };
    let folded = kinds(&look("off-cpu", &target, 2.0, &[]));
    assert!(folded.iter().any(|kind| kind == "network"), "its clients wait for answers: {folded:?}");
    assert!(!folded.iter().any(|kind| kind.starts_with("idle")), "{folded:?}");
    let shown = kinds(&look("off-cpu", &target, 2.0, &["idle=show"]));
    assert!(shown.iter().any(|kind| kind.starts_with("idle")), "{shown:?}");
}

#[test]
fn threads_that_wait_for_locks_are_told_from_idle_ones() {
    let target =
        testbed::shared().target("lock-contention", Runtime::Net9).start().expect("the patient starts");
    look_until("off-cpu", &target, 2.0, &[], |report| {
        let waits = rows(report, "waits");
        waits.iter().any(|row| format!("{:?}", row[0]).contains("waits for a lock"))
    });
}

#[test]
fn every_report_says_how_good_it_is_and_what_it_cost() {
    let target = testbed::shared().target("hot-method", Runtime::Net9).start().expect("the patient starts");
    for (picture, typed) in
        [(Picture::Cpu, &["rate=499"][..]), (Picture::Both, &["rate=499", "off-cpu=show"])]
    {
        let (recorded, report) = record(&target, picture, typed, 200);
        let quality: Vec<String> = rows(&report, "quality").iter().map(|row| format!("{row:?}")).collect();
        for what in ["samples", "rate", "lost", "unnamed", "whole stacks", "route", "CPU for our sake"] {
            assert!(quality.iter().any(|row| row.contains(what)), "{what}: {quality:?}");
        }
        assert!(report.cost.target_cpu_ns.is_some_and(|ns| ns > 0), "{:?}", report.cost);
        assert!(report.cost.events > 200 && report.cost.bytes > 0, "{:?}", report.cost);
        let threads = rows(&report, "threads");
        assert!(threads.iter().any(|row| row[0] == "till".into()), "threads have their names: {threads:?}");
        let profile = &recorded.processes[0].profiles.on_cpu;
        assert!(profile.frames.iter().any(|frame| frame.kind == FrameKind::Runtime), "down to the runtime");
    }
}

#[test]
fn samples_add_up_to_the_cpu_time_of_the_process() {
    let target = testbed::shared().target("hot-method", Runtime::Net8).start().expect("the patient starts");
    let (recorded, report) = record(&target, Picture::Cpu, &["rate=499", "top=1000"], 500);
    let total = number(&report, "methods", "Pricing.DiscountBook.FindBest", "total").expect("a row");
    let used = recorded.processes[0].cpu_time.expect("the scheduler counts").as_secs_f64() * 1e9;
    assert!(total <= used && total > 0.8 * used, "{total} of {used}");
    let kinds: f64 = rows(&report, "kinds")
        .iter()
        .filter_map(|row| number(&report, "kinds", &text(&row[0]), "share"))
        .sum();
    assert!((kinds - 100.0).abs() < 1.0, "{kinds}");
}

fn text(cell: &model::Cell) -> String {
    if let model::Cell::Text(text) = cell { text.clone() } else { String::new() }
}

#[test]
fn a_target_that_ends_has_a_report_of_what_was_seen() {
    let target = testbed::shared().target("hot-method", Runtime::Net9).start().expect("the patient starts");
    let process = process(&target);
    let settings = Settings::new(Picture::Cpu.spec(), ["rate=499"]).expect("the settings");
    let request = request(Picture::Cpu, vec![Recording::from(&process)], &settings);
    let mut collecting = Collecting::start(request).expect("root may sample");
    while collecting.counts().on_cpu < 100 {
        collecting.wait(Duration::from_millis(50)).expect("it waits");
    }
    drop(target);
    while collecting.wait(Duration::from_millis(50)).expect("it waits") != Wake::TargetsEnded {}
    let recorded = collecting.finish();
    let report = report(
        Picture::Cpu,
        &process,
        &recorded,
        0,
        &settings,
        Duration::from_secs(60),
        WindowEnd::TargetExited,
    );
    assert!(report.summary.starts_with("Most CPU: Pricing."), "{}", report.summary);
}

/// On a target that other questions share.
pub fn a_strangers_program_is_described(target: &Target) {
    for profiler in ["cpu", "off-cpu"] {
        let report = look(profiler, target, 2.0, &[]);
        assert_eq!(report.target.runtime_version.as_deref(), Some("10.0.9"));
        assert!(ids(&report).is_empty(), "{profiler}: {:?}", report.findings);
    }
}
