//! The report as users see it, from fixed observations.

use std::time::Duration;

use model::{Body, Pauses, WindowEnd};
use process_view::TaskState::{Running, Sleeping};

use super::SPEC;
use super::answer::answer;
use crate::Settings;
use crate::about::About;
use crate::inside::specimen::{sight, thread};
use crate::inside::{Seen, Sight};
use crate::profiler::Answer;
use crate::specimen::{agent_cost, check, report};

const LIB: &str = "System.Private.CoreLib!System.Threading";

fn about() -> About {
    About {
        cost: agent_cost(Pauses { count: 1, total_ns: 900_000, longest_ns: 900_000 }, 18_000, 1),
        notes: Vec::new(),
        measured: Duration::from_millis(8),
        end: WindowEnd::Completed,
    }
}

fn shop() -> Sight {
    let dispatch = format!("{LIB}.ThreadPoolWorkQueue.Dispatch");
    let start = format!("{LIB}.PortableThreadPool.WorkerThread.WorkerThreadStart");
    let wait = format!("{LIB}.Monitor.Wait");
    let slim = format!("{LIB}.ManualResetEventSlim.Wait");
    let task = format!("{LIB}.Tasks.Task.Wait");
    let enter = format!("{LIB}.Monitor.Enter");
    let sleep = format!("{LIB}.Thread.Sleep");
    let semaphore = format!("{LIB}.LowLevelLifoSemaphore.Wait");
    let one = format!("{LIB}.WaitHandle.WaitOne");
    let serve = "Shop.Server.Serve@Server.cs:31";
    let mut threads = vec![
        thread(4242, "Shop.Api", Sleeping, &[&sleep, "Shop.Program.Main@Program.cs:12"]),
        thread(4250, ".NET TP Worker", Running, &["Shop.Cart.Sum@Cart.cs:77", serve, &dispatch, &start]),
        thread(
            4251,
            ".NET TP Worker",
            Sleeping,
            &[&enter, "Shop.Cart.Add@Cart.cs:40", serve, &dispatch, &start],
        ),
        thread(
            4252,
            ".NET TP Worker",
            Sleeping,
            &[&enter, "Shop.Cart.Add@Cart.cs:40", serve, &dispatch, &start],
        ),
        thread(
            4253,
            ".NET TP Worker",
            Sleeping,
            &[&wait, &slim, &task, "Shop.Pay.Charge@Pay.cs:18", serve, &dispatch, &start],
        ),
        thread(4254, ".NET TP Worker", Sleeping, &[&semaphore, &start]),
        Seen { managed: false, ..thread(4243, ".NET SigHandler", Sleeping, &[]) },
    ];
    threads.extend((1..=3).map(|number| {
        let name = format!("export-{number}");
        thread(4260 + number, &name, Sleeping, &[&one, "Shop.Exporter.Upload@Exporter.cs:63"])
    }));
    sight(threads)
}

fn asked(typed: &[&str]) -> Answer {
    let settings = Settings::new(&SPEC, typed.iter().copied()).expect("settings");
    answer(&shop(), about(), &settings)
}

#[test]
fn the_report_looks_as_accepted() {
    let report = report(&SPEC, asked(&["threads=show"]));
    assert!(report.findings.is_empty());
    check(&report);
}

#[test]
fn what_is_idle_is_shown_when_it_is_asked_for() {
    let rows = |answer: &Answer| match &answer.sections[0].body {
        Body::Table(table) => table.rows.len(),
        _ => panic!("a table"),
    };
    let (hidden, shown) = (asked(&[]), asked(&["idle=show"]));
    assert!(rows(&shown) > rows(&hidden));
    assert!(
        hidden.notes.iter().any(|note| note.starts_with("2 threads are not shown")),
        "{:?}",
        hidden.notes
    );
    assert!(!shown.notes.iter().any(|note| note.contains("not shown")), "{:?}", shown.notes);
}

#[test]
fn a_process_whose_threads_all_wait_for_work_says_so() {
    let idle = sight(vec![thread(1, "a", Sleeping, &[&format!("{LIB}.LowLevelLifoSemaphore.Wait")])]);
    let settings = Settings::new(&SPEC, []).expect("settings");
    let answer = answer(&idle, about(), &settings);
    assert!(answer.summary.starts_with("All 1 threads wait for work"), "{}", answer.summary);
    assert!(answer.sections.is_empty());
}
