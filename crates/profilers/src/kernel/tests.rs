//! The reports as users see them, from fixed recordings.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use kernel_collector::{NamesFailure, Naming, Recorded, RecordedProcess, ThreadClock};
use kernel_profile::{Profiles, Quality, WaitQuality};
use model::{Body, Cell, Frame, FrameKind, ProcessId, Report, ThreadId, WindowEnd};
use nettrace::CodeAddress;
use perf_sampler::{
    Cause, Counts, Granted, KernelSide, Missing, OffCpu, Part, Placement, Remedy, Summary, Timestamp,
};
use stacks::{Profile, ProfileThread, Sample, StackTable, ThreadSlot, Weight};

use super::answer::answer;
use super::{Picture, specs};
use crate::Settings;
use crate::specimen::{check, ids, report};

const MS: u64 = 1_000_000;

/// A thread, milliseconds, and a stack, innermost first.
type Seen<'a> = (u32, u64, &'a [&'a str]);

/// Frames are written as `kernel:name`, `library.so:name`, `assembly!name`, or the name of a method of the program.
fn frame(text: &str) -> Frame {
    let (kind, module, name) = match (text.split_once('!'), text.split_once(".so:")) {
        (Some((module, name)), _) => (FrameKind::Managed, Some(module.to_owned()), name),
        (_, Some((library, name))) if library.starts_with("libclr") || library == "libcoreclr" => {
            (FrameKind::Runtime, Some(format!("/dotnet/{library}.so")), name)
        }
        (_, Some((library, name))) => (FrameKind::Native, Some(format!("/lib/{library}.so")), name),
        _ => match text.strip_prefix("kernel:") {
            Some(name) => (FrameKind::Kernel, None, name),
            None => (FrameKind::Managed, Some("/app/Shop.dll".to_owned()), text),
        },
    };
    let own = kind == FrameKind::Managed && module.as_deref() == Some("/app/Shop.dll");
    Frame {
        kind,
        name: name.to_owned(),
        module,
        file: own.then(|| "/src/Shop.cs".to_owned()),
        line: own.then_some(42),
    }
}

/// Profiles on one set of stacks.
fn profiles(sides: [&[Seen<'_>]; 3]) -> [Profile; 3] {
    let mut texts: Vec<&str> = Vec::new();
    let mut table = StackTable::new();
    let mut address = |text| {
        let at = texts.iter().position(|known| *known == text).unwrap_or_else(|| {
            texts.push(text);
            texts.len() - 1
        });
        CodeAddress(at as u64)
    };
    let mut keys = |stack: &[&'static str]| {
        let addresses: Vec<CodeAddress> = stack.iter().map(|text| address(*text)).collect();
        table.intern(addresses.into_iter())
    };
    let samples = sides.map(|side| {
        let taken = side.iter().map(|(thread, ms, stack)| {
            // Tests are written with literals.
            let stack: Vec<&'static str> =
                stack.iter().map(|text| &*Box::leak(text.to_string().into_boxed_str())).collect();
            (*thread, *ms, keys(&stack))
        });
        taken.collect::<Vec<_>>()
    });
    let (frames, nodes) = table.named(|address| frame(texts[usize::try_from(address.0).expect("an index")]));
    samples.map(|samples| {
        let mut threads: Vec<u32> = samples.iter().map(|(thread, ..)| *thread).collect();
        threads.sort_unstable();
        threads.dedup();
        let slot = |thread: u32| {
            let at = threads.iter().position(|known| *known == thread).expect("a thread");
            ThreadSlot(u32::try_from(at).expect("few threads"))
        };
        Profile {
            title: String::new(),
            weight: Weight::Nanoseconds,
            started: None,
            duration_ns: 10_000 * MS,
            process: None,
            frames: frames.clone(),
            nodes: nodes.clone(),
            threads: threads.iter().map(|id| ProfileThread { id: u64::from(*id), name: None }).collect(),
            samples: samples
                .iter()
                .flat_map(|(thread, ms, stack)| {
                    let sample = Sample { at_ns: 0, weight: 10 * MS, thread: slot(*thread), stack: *stack };
                    std::iter::repeat_n(sample, usize::try_from(ms / 10).expect("few samples"))
                })
                .collect(),
        }
    })
}

fn clock(name: &str, ran_ms: u64, ready_ms: u64) -> ThreadClock {
    ThreadClock {
        name: name.to_owned(),
        ran: Duration::from_millis(ran_ms),
        ready: Duration::from_millis(ready_ms),
        rests: Some(7),
        looked: Duration::from_secs(10),
    }
}

fn recorded(running: &[Seen<'_>], waiting: &[Seen<'_>], ready: &[Seen<'_>]) -> Recorded {
    let [on_cpu, off_cpu, ready] = profiles([running, waiting, ready]);
    let ran = on_cpu.total();
    let process = RecordedProcess {
        pid: ProcessId(4242),
        profiles: Profiles {
            on_cpu,
            off_cpu,
            ready,
            quality: Quality {
                stacks: 840,
                complete: 838,
                at_limit: 1,
                managed_frames: 9_000,
                managed_unnamed: 2,
                native_frames: 4_000,
                native_unnamed: 3_000,
                running: 820,
                running_complete: 819,
                waits: WaitQuality {
                    waited_ns: 9_000,
                    estimated_ns: 1_200,
                    without_stack_ns: 90,
                    complete_ns: 8_900,
                    ..WaitQuality::default()
                },
                ..Quality::default()
            },
            without_symbols: vec![
                ("/dotnet/libcoreclr.so".into(), None),
                ("/dotnet/libclrjit.so".into(), None),
            ],
        },
        naming: Naming { methods: 2_100, bytes: 1_600_000, events: 7_000, asked: 1, ..Naming::default() },
        cpu_time: Some(Duration::from_nanos(ran)),
        on_our_behalf: Duration::from_millis(40),
        child: None,
        threads: BTreeMap::from([
            (ThreadId(4250), clock("pricing", 7_600, 300)),
            (ThreadId(4251), clock(".NET TP Worker", 600, 40)),
            (ThreadId(4252), clock(".NET TP Worker", 40, 0)),
            (ThreadId(4260), clock(".NET Server GC", 400, 0)),
            (ThreadId(4261), clock(".NET Tiered Com", 120, 0)),
            (ThreadId(4262), clock(".NET EventPipe", 80, 0)),
            (ThreadId(4263), clock("heartbeat", 0, 0)),
        ]),
    };
    Recorded {
        processes: vec![process],
        granted: Granted {
            on_cpu: Some(Placement::PerCpu),
            off_cpu: Some(OffCpu::WithStacks(Placement::PerThread)),
            kernel: KernelSide::Seen,
            rate_hz: 99,
            period: Duration::from_millis(10),
            cpus: 2,
            ring_bytes: 8 << 20,
            wait_stack_every: 1,
            max_frames: 127,
            missing: Vec::new(),
        },
        summary: Summary {
            counts: Counts { on_cpu: 840, wait_stacks: 6_000, switches: 12_000, ..Counts::default() },
            started: Timestamp(0),
            ended: Timestamp(10_000 * MS),
            cpu_time: BTreeMap::new(),
        },
        started_at: SystemTime::UNIX_EPOCH,
        looking: Duration::ZERO,
    }
}

const MATCH: &str = "System.Text.RegularExpressions!System.Text.RegularExpressions.Regex.IsMatch";
const GO: &str = "System.Text.RegularExpressions!System.Text.RegularExpressions.RegexInterpreter.Go";
const DISPATCH: &str = "System.Private.CoreLib!System.Threading.ThreadPoolWorkQueue.Dispatch";
const WORKER: &str =
    "System.Private.CoreLib!System.Threading.PortableThreadPool.WorkerThread.WorkerThreadStart";
const TASK_WAIT: &str = "System.Private.CoreLib!System.Threading.Tasks.Task.Wait";
const FUTEX: &str = "kernel:futex_do_wait";
const COND: &str = "libc.so:__pthread_cond_wait";
const CLR: &str = "libcoreclr.so:libcoreclr.so+0x4c35b4";
const START: &str = "libc.so:start_thread";

fn running() -> Vec<Seen<'static>> {
    vec![
        (4250, 6_000, &[GO, MATCH, "Shop.Discounts.FindBest", "Shop.Till.Serve", CLR, START]),
        (4250, 1_400, &["Shop.Discounts.FindBest", "Shop.Till.Serve", CLR, START]),
        (4250, 200, &["libc.so:__memmove_evex", CLR, "Shop.Till.Total", "Shop.Till.Serve", CLR, START]),
        (
            4251,
            600,
            &[
                "kernel:tcp_sendmsg",
                "kernel:do_syscall_64",
                "libc.so:__send",
                "Shop.Api.Answer",
                DISPATCH,
                WORKER,
            ],
        ),
        (4260, 400, &[CLR, START]),
        (4261, 120, &["libclrjit.so:libclrjit.so+0x10", CLR, START]),
        (4262, 80, &[CLR, START]),
    ]
}

fn waiting() -> Vec<Seen<'static>> {
    vec![
        (4251, 4_500, &[FUTEX, COND, CLR, TASK_WAIT, "Shop.Api.Pay", DISPATCH, WORKER, CLR, START]),
        (4252, 3_000, &[FUTEX, COND, CLR, TASK_WAIT, "Shop.Api.Pay", DISPATCH, WORKER, CLR, START]),
        (
            4251,
            800,
            &[
                "kernel:sk_wait_data",
                "kernel:tcp_recvmsg",
                "libc.so:__recv",
                "System.Net.Sockets!System.Net.Sockets.Socket.Receive",
                "Shop.Api.Ask",
                DISPATCH,
                WORKER,
                CLR,
                START,
            ],
        ),
        (4251, 300, &[FUTEX, COND, CLR, "Shop.Stock.Reserve", "Shop.Api.Pay", DISPATCH, WORKER, CLR, START]),
        (4252, 250, &[]),
        (4251, 3_000, &[FUTEX, COND, CLR, WORKER, CLR, START]),
        (
            4263,
            9_990,
            &[
                "kernel:do_nanosleep",
                "System.Private.CoreLib!System.Threading.Thread.Sleep",
                "Shop.Heart.Beat",
                CLR,
                START,
            ],
        ),
        (4260, 9_600, &[FUTEX, COND, CLR, START]),
        (4261, 9_880, &[FUTEX, COND, CLR, START]),
    ]
}

fn ready() -> Vec<Seen<'static>> {
    vec![
        (4250, 300, &["Shop.Discounts.FindBest", "Shop.Till.Serve", CLR, START]),
        (4251, 40, &["Shop.Api.Pay", DISPATCH, WORKER]),
    ]
}

fn settings(picture: Picture, typed: &[&str]) -> Settings {
    Settings::new(picture.spec(), typed.iter().copied()).expect("settings")
}

fn look(picture: Picture, recorded: &Recorded, typed: &[&str]) -> Report {
    report(picture.spec(), answer(picture, recorded, 0, &settings(picture, typed), WindowEnd::Completed))
}

fn cells<'a>(report: &'a Report, section: &str) -> &'a [Vec<Cell>] {
    let found = report.sections.iter().find(|known| known.id == section).expect("the section");
    let Body::Table(table) = &found.body else { panic!("a table") };
    &table.rows
}

#[test]
fn the_report_of_running_threads_looks_as_accepted() {
    let report = look(Picture::Cpu, &recorded(&running(), &[], &[]), &[]);
    assert_eq!(ids(&report), ["hot-method"]);
    let kinds: u64 =
        cells(&report, "kinds").iter().map(|row| if let Cell::Number(ns) = row[2] { ns } else { 0 }).sum();
    assert_eq!(kinds, 8_720 * MS, "all but what was for our sake");
    check(&report);
}

#[test]
fn the_report_of_waiting_threads_looks_as_accepted() {
    let report = look(Picture::OffCpu, &recorded(&[], &waiting(), &ready()), &[]);
    assert_eq!(ids(&report), ["sync-over-async"]);
    check(&report);
}

#[test]
fn the_report_of_both_looks_as_accepted() {
    let report = look(Picture::Both, &recorded(&running(), &waiting(), &ready()), &["off-cpu=show"]);
    assert_eq!(ids(&report), ["hot-method", "sync-over-async"]);
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/cpu-with-off-cpu.txt");
    golden::check(golden, &reports::terminal::render(&report, &reports::TerminalStyle::default()));
}

#[test]
fn idle_waits_are_listed_when_asked_for() {
    let recorded = recorded(&[], &waiting(), &[]);
    let of = |typed: &[&str]| {
        let report = look(Picture::OffCpu, &recorded, typed);
        let waits: Vec<String> = cells(&report, "waits").iter().map(|row| format!("{:?}", row[0])).collect();
        (waits, report.notes)
    };
    let (folded, notes) = of(&[]);
    assert!(!folded.iter().any(|wait| wait.contains("idle")), "{folded:?}");
    assert!(
        notes.iter().any(|note| note.starts_with("Folded away as idle: 32.5 s of 4 threads")),
        "{notes:?}"
    );
    let (shown, notes) = of(&["idle=show"]);
    for kind in ["waits for work", "no .NET code", "sleeps between turns"] {
        assert!(shown.iter().any(|wait| wait.contains(kind)), "{kind}: {shown:?}");
    }
    assert!(!notes.iter().any(|note| note.starts_with("Folded")), "{notes:?}");
}

#[test]
fn a_thread_that_waits_for_a_lock_all_the_time_is_not_idle() {
    let lock = "System.Private.CoreLib!System.Threading.Monitor.Enter";
    let stuck: &[Seen<'_>] = &[
        (4250, 10_000, &[FUTEX, COND, CLR, lock, "Shop.Stock.Reserve", START]),
        (4251, 10_000, &[FUTEX, COND, CLR, TASK_WAIT, "Shop.Program.Main", START]),
    ];
    let report = look(Picture::OffCpu, &recorded(&[], stuck, &[]), &[]);
    assert!(
        report.summary.starts_with("Most waiting: Shop.Stock.Reserve (100 %, waits for a lock)"),
        "{}",
        report.summary
    );
    assert!(report.notes.iter().any(|note| note.contains("1 waited in one place")), "{:?}", report.notes);
}

#[test]
fn what_rights_do_not_show_is_said_with_the_way_out() {
    let mut recorded = recorded(&running()[..3], &[], &[]);
    recorded.granted.kernel = KernelSide::Hidden;
    recorded.granted.on_cpu = Some(Placement::PerThread);
    recorded.granted.missing = vec![Missing {
        part: Part::KernelSide,
        cause: Cause::Paranoid { value: Some(2), needed: 1 },
        remedies: vec![Remedy::Setting { name: "kernel.perf_event_paranoid", value: 1 }],
    }];
    recorded.processes[0].cpu_time = Some(Duration::from_secs(9));
    recorded.processes[0].naming.failure = Some(NamesFailure::NoAnswer);
    let report = look(Picture::Cpu, &recorded, &[]);
    let unseen = cells(&report, "kinds").last().expect("a row");
    assert_eq!((&unseen[0], &unseen[2]), (&Cell::from("not seen: in the kernel"), &Cell::from(1_400 * MS)));
    assert!(
        report.notes.iter().any(|note| note.contains("sudo sysctl kernel.perf_event_paranoid=1")),
        "{:?}",
        report.notes
    );
    assert!(
        report.notes.iter().any(|note| note.contains("did not tell all names in time")),
        "{:?}",
        report.notes
    );
}

#[test]
fn a_process_of_which_nothing_was_seen_has_a_report() {
    let recorded = recorded(&[], &[], &[]);
    for picture in [Picture::Cpu, Picture::OffCpu, Picture::Both] {
        let report = look(picture, &recorded, &[]);
        assert!(report.findings.is_empty() && !report.summary.is_empty(), "{report:?}");
        let gone = answer(picture, &recorded, 1, &settings(picture, &[]), WindowEnd::TargetExited);
        assert!(gone.summary.contains("ended too soon"), "{}", gone.summary);
    }
    assert_eq!((specs::CPU.id, specs::OFF_CPU.id), ("cpu", "off-cpu"));
}
