//! `drdotnet cpu` and `drdotnet off-cpu` on one process.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use model::{Report, WindowEnd};
use rustix::process::Signal;
use stored_profiles::{Recording, Side};
use testbed::{Namespaces, Runtime, Target, shared};

use crate::support::{BINARY, Said, User, check_golden, eventually, said, skip, start};

/// What uses the CPU in the patient `hot-method`.
pub const HOT: &str = "Pricing.DiscountBook.FindBest";

pub fn hot_method() -> Target {
    shared().target("hot-method", Runtime::Net9).start().expect("a target")
}

/// Whether this user may sample everything; says so if not.
pub fn may_watch_all() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skip("it needs the right to watch all processes");
    }
    root
}

/// The samples that a session keeps.
pub fn kept(folder: &Path) -> Recording {
    let file = std::fs::File::open(folder.join("profile.drprof")).expect("samples are kept");
    stored_profiles::read(std::io::BufReader::new(file)).expect("they can be read")
}

/// The folder of the only session.
pub fn session(user: &User) -> PathBuf {
    let listed = user.listed();
    assert_eq!(listed.len(), 1, "{listed:#?}");
    PathBuf::from(listed[0]["folder"].as_str().expect("a folder"))
}

/// Waits until a process has used some more CPU time.
pub fn wait_for_work(pid: u32) {
    let used = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
        // Behind the name, which may hold anything: the state, and then numbers.
        let numbers = stat.rsplit_once(')').expect("a name").1.split_whitespace();
        let ticks: Vec<u64> = numbers.skip(11).take(2).filter_map(|number| number.parse().ok()).collect();
        ticks.iter().sum::<u64>()
    };
    let before = used();
    eventually("it works", || (used() > before + 20).then_some(()));
}

#[track_caller]
fn assert_hot(report: &Report) {
    assert_eq!(report.profiler.id, "cpu");
    assert!(report.summary.contains(HOT), "{}", report.summary);
}

fn files(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_hot_method_is_found_a_flame_graph_is_kept_and_nothing_is_left_in_the_target() {
    if !may_watch_all() {
        return;
    }
    for runtime in testbed::two_of(&Runtime::ALL) {
        let (user, folder) = (User::new(), tempfile::tempdir().unwrap());
        let target = shared().target("hot-method", runtime).tmpdir(folder.path()).start().unwrap();
        let before = files(folder.path());
        let run = user.says(&["cpu", "-p", &target.pid().to_string(), "-d", "2", "--rate", "499", "--json"]);
        assert_hot(&run.report());
        assert!(run.stderr.contains("user and kernel code\n"), "{}", run.stderr);
        assert!(!run.stderr.contains("missing"), "{}", run.stderr);
        assert_eq!(files(folder.path()), before, "{runtime}: nothing is left in its temp folder");
        let session = session(&user);
        let page = session.join("flamegraph.html");
        assert!(run.stderr.contains(&format!("flame graph: {}   (open", page.display())), "{}", run.stderr);
        assert!(std::fs::read_to_string(&page).unwrap().contains("FindBest"), "{runtime}");
        let recording = kept(&session);
        assert_eq!((recording.rate_hz, recording.sides()), (Some(499), vec![Side::OnCpu]));
        let profile = recording.of_side(Side::OnCpu).next().unwrap();
        let hot = profile.frames.iter().find(|frame| frame.name == HOT).expect("it has a name");
        assert!(hot.line.is_some(), "{runtime}: {hot:?}");
        assert!(target.is_alive(), "{}", target.stderr_text());
        assert_eq!(user.says(&["sessions", "rm", "last"]).code, Some(0));
        assert!(!session.exists(), "nothing of it stays: {:?}", files(&session));
    }
}

#[test]
fn waits_are_told_beside_running_and_alone() {
    if !may_watch_all() {
        return;
    }
    let target = shared().target("web-two-routes", Runtime::Net9).start().unwrap();
    let pid = target.pid().to_string();
    for (arguments, id, sides) in [
        (&["cpu", "--with-off-cpu"][..], "cpu", vec![Side::OnCpu, Side::OffCpu]),
        (&["off-cpu"], "off-cpu", vec![Side::OffCpu]),
    ] {
        let user = User::new();
        let run = user.says(&[arguments, &["-p", &pid, "-d", "3", "--json"]].concat());
        assert_eq!(run.report().profiler.id, id);
        assert!(run.stderr.contains("at every wait"), "{}", run.stderr);
        let recorded = kept(&session(&user)).sides();
        assert!(sides.iter().all(|side| recorded.contains(side)), "{recorded:?}");
    }
    assert!(target.is_alive());
}

#[test]
fn every_format_is_written_on_request() {
    if !may_watch_all() {
        return;
    }
    let (user, target) = (User::new(), hot_method());
    let folder = user.folder().join("out");
    let shown = folder.to_str().unwrap();
    let list = "folded,speedscope,PPROF, firefox,chromium,flamegraph,perf-script,html,html";
    let pid = target.pid().to_string();
    let run = user.says(&["cpu", &pid, "-d", "1", "--rate", "199", "--format", list, "-o", shown]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let expected = [
        "flamegraph.html",
        "lock",
        "on-cpu.chromium.json",
        "on-cpu.firefox.json",
        "on-cpu.folded",
        "on-cpu.pb.gz",
        "on-cpu.perf.txt",
        "on-cpu.speedscope.json",
        "on-cpu.svg",
        "outcome.json",
        "report.json",
        "session.json",
    ];
    assert_eq!(files(&folder), expected.map(str::to_owned).into(), "{}", run.stderr);
    assert!(std::fs::read_to_string(folder.join("on-cpu.folded")).unwrap().contains(HOT));
    assert!(run.stderr.contains(&format!("kept in {shown} ")), "{}", run.stderr);
    let again = user.says(&["cpu", &pid, "-d", "1", "-o", shown]);
    assert_eq!(again.code, Some(9), "a session needs a folder of its own: {}", again.stderr);
}

#[test]
fn frames_of_the_kernel_can_be_left_out() {
    if !may_watch_all() {
        return;
    }
    let target = shared().target("healthy-busy-web", Runtime::Net9).start().unwrap();
    let pid = target.pid().to_string();
    let kernel = |options: &[&str]| {
        let user = User::new();
        let run = user.says(&[&["cpu", "-p", &pid, "-d", "1", "--rate", "499"], options].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let recording = kept(&session(&user));
        let frames = recording.profiles.iter().flat_map(|(_, profile)| &profile.frames);
        let kernel = frames.filter(|frame| frame.kind == model::FrameKind::Kernel);
        kernel.map(|frame| frame.name.clone()).collect::<BTreeSet<String>>()
    };
    assert!(!kernel(&[]).is_empty());
    assert_eq!(kernel(&["--no-kernel"]), BTreeSet::new());
    assert!(!kernel(&["--no-kernel", "--kernel-frames"]).is_empty());
}

#[test]
fn ctrl_c_gives_the_report_now() {
    if !may_watch_all() {
        return;
    }
    let (user, target) = (User::new(), hot_method());
    let run = user.starts(&["cpu", "-p", &target.pid().to_string(), "-d", "10m", "--json"]);
    user.wait_running();
    wait_for_work(target.pid());
    run.signal(Signal::INT);
    let report = run.ends().report();
    assert_eq!(report.window.end, WindowEnd::Cancelled);
    assert!(report.window.measured_ns < report.window.requested_ns);
    assert_eq!(user.listed()[0]["status"], "cancelled");
}

#[test]
fn a_target_that_ends_in_the_middle_has_a_report_with_names() {
    if !may_watch_all() {
        return;
    }
    let (user, target) = (User::new(), hot_method());
    let pid = target.pid();
    let run = user.starts(&["cpu", "-p", &pid.to_string(), "-d", "10m", "--rate", "499", "--json"]);
    user.wait_running();
    // Its names are known before it is sampled.
    wait_for_work(pid);
    wait_for_work(pid);
    target.kill().unwrap();
    let said = run.ends();
    assert_eq!(said.code, Some(8), "{}", said.stderr);
    let report = Report::from_json(&said.stdout).unwrap();
    assert_eq!(report.window.end, WindowEnd::TargetExited);
    assert_hot(&report);
    assert!(session(&user).join("flamegraph.html").exists());
    assert_eq!(user.listed()[0]["status"], "done");
}

#[test]
fn a_program_is_recorded_from_its_first_method_on() {
    if !may_watch_all() {
        return;
    }
    for runtime in [Runtime::Net31, Runtime::Net9] {
        let user = User::new();
        let line = shared().target("hot-method", runtime).command().unwrap();
        let mut command = Command::new(BINARY);
        line.apply_environment(&mut command);
        user.prepare(&mut command);
        command.args(["cpu", "-d", "4", "--rate", "499", "--json", "--"]).args(line.words());
        let run = said(&mut command);
        let report = run.report();
        assert_eq!(report.window.end, WindowEnd::Completed, "{}", run.stderr);
        assert!(run.stderr.contains("stopped the program that was started for this\n"), "{}", run.stderr);
        let recording = kept(&session(&user));
        let names = recording.profiles.iter().flat_map(|(_, profile)| &profile.frames);
        let names: BTreeSet<&str> = names.map(|frame| frame.name.as_str()).collect();
        assert!(names.contains(HOT), "{runtime}: {names:?}");
        // Only a program that was held at its start is seen while its host still looks for the assemblies.
        let starts = names.iter().any(|name| name.contains("Main"));
        assert!(starts || runtime == Runtime::Net31, "{names:?}");
    }
}

#[test]
fn a_stopped_process_has_a_report_that_says_so() {
    if !may_watch_all() {
        return;
    }
    let (user, target) = (User::new(), hot_method());
    let pid = target.pid().to_string();
    crate::support::send(target.pid(), Signal::STOP);
    eventually("it is stopped", || {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") T ").then_some(())
    });
    let run = user.says(&["cpu", "-p", &pid, "-d", "1", "--json"]);
    let report = run.report();
    assert!(report.notes[0].starts_with("The process is stopped, by a signal"), "{:?}", report.notes);
    assert!(run.stderr.contains("because: no answer; stopped by a signal (SIGSTOP)\n"), "{}", run.stderr);
    let off_cpu = user.says(&["off-cpu", "-p", &pid, "-d", "1", "--json"]).report();
    assert!(off_cpu.notes[0].starts_with("The process is stopped"), "{:?}", off_cpu.notes);
    crate::support::send(target.pid(), Signal::CONT);
    wait_for_work(target.pid());
}

#[test]
fn what_is_typed_wrong_is_refused_before_anything_is_touched() {
    let user = User::new();
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let pid = target.pid().to_string();
    let sleep = start(Command::new("sleep").arg("1000"));
    let free = Command::new("true").spawn().map(|mut child| child.wait().map(|_| child.id()));
    let free = free.unwrap().unwrap().to_string();
    let cases: [(&str, i32, &[&str]); 10] = [
        ("rate-zero", 11, &["cpu", "-p", &pid, "--rate", "0"]),
        ("rate-too-high", 11, &["cpu", "-p", &pid, "--rate", "10001"]),
        ("format-misspelt", 10, &["cpu", "-p", &pid, "--format", "html,speedscop"]),
        ("format-unknown", 10, &["off-cpu", "-p", &pid, "--format", "xyz"]),
        ("duration", 12, &["cpu", "-p", &pid, "-d", "soon"]),
        ("folder", 11, &["cpu", "-p", &pid, "-o", "cpu.svg"]),
        ("no-target", 2, &["cpu", "-d", "1"]),
        ("two-targets", 2, &["off-cpu", "-p", &pid, "--all"]),
        ("not-dotnet", 4, &["cpu", "-p", &sleep.pid().to_string()]),
        ("no-process", 3, &["cpu", "-p", &free]),
    ];
    let mut text = String::new();
    for (name, code, arguments) in cases {
        let run = user.says(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (Some(code), ""), "{name}: {}", run.stderr);
        let error = run.stderr.replace(&sleep.pid().to_string(), "PID").replace(&free, "PID");
        let error = error.lines().map(|line| match line.split_once("lists the .NET processes") {
            Some((before, _)) => format!("{before}lists the .NET processes ...\n"),
            None => format!("{line}\n"),
        });
        text += &format!("== {name}\n{}", error.collect::<String>());
    }
    check_golden("errors/cpu.txt", &text);
    assert!(!user.sessions().exists(), "nothing was begun");
}

#[test]
fn a_disk_that_fills_up_costs_the_flame_graph_but_not_the_report() {
    if !may_watch_all() {
        return;
    }
    if let Err(reason) = Namespaces::available() {
        skip(&reason.to_string());
        return;
    }
    let (user, target) = (User::new(), hot_method());
    std::fs::create_dir(user.sessions()).unwrap();
    for (size, shown) in [("4k", true), ("0", false)] {
        let fill = if shown { "" } else { "head -c 4096 /dev/zero > \"$1/full\"; " };
        let script = format!("set -e; mount -t tmpfs -o size=4k tmpfs \"$1\"; {fill}shift; exec \"$@\"");
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", &script, "sh"]).arg(user.sessions());
        command.args([BINARY, "cpu", "-d", "1", "--json", "-p", &target.pid().to_string()]);
        user.prepare(&mut command);
        let run: Said = said(&mut command);
        assert_eq!(run.code, Some(9), "{size}: {}", run.stderr);
        assert_eq!(!run.stdout.is_empty(), shown, "{}", run.stderr);
        assert!(run.stderr.contains("the disk is full"), "{}", run.stderr);
    }
    assert!(target.is_alive());
}
