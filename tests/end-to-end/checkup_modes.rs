//! `drdotnet checkup` in its other forms: all processes, again and again, everything, a program of its own.

use std::io::{BufRead, BufReader, Lines};
use std::os::unix::fs::PermissionsExt;
use std::process::{ChildStdout, Command};

use model::{Report, Severity, WindowEnd};
use rustix::process::Signal;
use serde_json::Value;
use testbed::{CommandLine, Namespaces, Runtime, shared};

use crate::json_schema::assert_fits;
use crate::support::{BINARY, Said, Started, User, is_root, said, skip, start};

/// A machine with few processes: a pid namespace and a temp folder of its own. What `script` starts ends with it.
fn alone(user: &User, script: &str, line: &CommandLine) -> Said {
    let mut command = Command::new("unshare");
    // In the common one lie the sockets of all other processes. The user's folder, which is there too, stays open as the current
    // one, and has the program under test, which may lie there as well.
    let script = format!("cp {BINARY} drdotnet\nmount -t tmpfs none /tmp\n{script}");
    command.args(["--pid", "--fork", "--mount", "--mount-proc", "--kill-child", "sh", "-c", &script]);
    user.prepare(&mut command);
    line.apply_environment(&mut command);
    command.env_remove("TMPDIR");
    said(command.env("DRDOTNET_SESSIONS", "sessions").current_dir(user.folder()))
}

/// A script that starts patients and waits until each is ready; their pids are in `$P0`, `$P1` and so on.
fn starting(lines: &[&CommandLine]) -> String {
    let quoted = |word: &std::ffi::OsStr| format!("'{}'", word.to_string_lossy().replace('\'', r"'\''"));
    let mut script = "set -e\n".to_owned();
    for (number, line) in lines.iter().enumerate() {
        let words: Vec<String> = line.words().iter().map(|word| quoted(word)).collect();
        script += &format!("{} > out{number} 2>&1 < /dev/null &\nP{number}=$!\n", words.join(" "));
        script += &format!("until grep -q ready out{number}; do sleep 0.1; done\n");
    }
    script
}

fn patient(id: &str) -> CommandLine {
    shared().target(id, Runtime::Net9).command().expect("a command line")
}

fn reports(said: &Said) -> Vec<Report> {
    let all = said.json();
    let one = |report: &Value| Report::from_json(&report.to_string()).expect("a report");
    all.as_array().expect("an array").iter().map(one).collect()
}

fn ids(report: &Report) -> Vec<&str> {
    report.findings.iter().map(|finding| finding.id.as_str()).collect()
}

#[test]
fn what_happens_to_one_does_not_end_the_examination_of_the_others() {
    if let Err(reason) = Namespaces::available() {
        skip(&reason.to_string());
        return;
    }
    let user = User::new();
    let [sick, healthy] = ["deadlock-ab-ba", "healthy-idle-service"].map(patient);
    let script = starting(&[&healthy, &sick, &healthy, &healthy]);
    // One stands still, and one ends as soon as somebody else is being examined.
    let script = format!(
        "{script}kill -STOP $P2\n\
         (until [ -n \"$(ls -A sessions 2>/dev/null)\" ]; do sleep 0.1; done; kill -KILL $P3) &\n\
         set +e\n./drdotnet checkup --all --json"
    );
    let said = alone(&user, &script, &sick);
    assert_eq!(said.code, Some(48), "{said:?}");
    let reports = reports(&said);
    assert!(said.stderr.contains("one after the other"), "{}", said.stderr);
    assert!(reports.iter().any(|report| ids(report).contains(&"deadlock")), "{reports:?}");
    assert!(reports.iter().any(|report| ids(report).contains(&"blocked-forever")), "{reports:?}");
    assert!(reports.iter().any(|report| report.summary.starts_with("Healthy")), "{reports:?}");
    let ended = reports.iter().any(|report| report.window.end == WindowEnd::TargetExited);
    assert!(ended || said.stderr.contains("has ended meanwhile"), "{}", said.stderr);
}

#[test]
fn processes_of_others_are_named_and_left_alone() {
    if let Err(reason) = Namespaces::available() {
        skip(&reason.to_string());
        return;
    }
    if !is_root() {
        return;
    }
    let user = User::new();
    std::fs::set_permissions(user.folder(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let healthy = patient("healthy-idle-service");
    let script = starting(&[&healthy]);
    let script = format!(
        "{script}set +e\n\
         setpriv --reuid 65534 --regid 65534 --clear-groups ./drdotnet checkup --all"
    );
    let said = alone(&user, &script, &healthy);
    assert_eq!(said.code, Some(50), "{said:?}");
    assert!(said.stderr.contains("belongs to another user"), "{}", said.stderr);
    assert!(said.stderr.contains("run as root"), "{}", said.stderr);
}

#[test]
fn one_that_cannot_be_asked_is_not_healthy() {
    if let Err(reason) = Namespaces::available() {
        skip(&reason.to_string());
        return;
    }
    let healthy = patient("healthy-idle-service");
    let script = format!("export DOTNET_EnableDiagnostics=0\n{}", starting(&[&healthy]));
    let script = format!("{script}set +e\n./drdotnet checkup --all");
    let said = alone(&User::new(), &script, &healthy);
    assert_eq!(said.code, Some(50), "{said:?}");
    assert!(said.stdout.contains("unclear "), "{said:?}");
    assert!(said.stderr.contains("1 process could not be wholly examined"), "{said:?}");
}

#[test]
fn an_output_that_takes_nothing_is_the_error_and_the_end() {
    if let Err(reason) = Namespaces::available() {
        skip(&reason.to_string());
        return;
    }
    let user = User::new();
    let healthy = patient("healthy-idle-service");
    let script = starting(&[&healthy, &healthy]);
    let script = format!("{script}set +e\n./drdotnet checkup --all > /dev/full");
    let said = alone(&user, &script, &healthy);
    assert_eq!(said.code, Some(9), "{said:?}");
    assert!(said.stderr.contains("writing to standard output"), "{said:?}");
    assert!(!said.stderr.contains("not examined"), "{said:?}");
    let listed = user.listed();
    assert_eq!((&listed[0]["status"], listed.len()), (&"done".into(), 1), "{listed:#?}");
}

#[test]
fn without_a_process_all_is_an_error() {
    if let Err(reason) = Namespaces::available() {
        skip(&reason.to_string());
        return;
    }
    let user = User::new();
    let said = alone(&user, "./drdotnet checkup --all", &patient("healthy-idle-service"));
    assert!(said.stderr.contains("no .NET process was found"), "{said:?}");
}

/// The lines that a running command prints.
fn lines(running: &mut Started) -> Lines<BufReader<ChildStdout>> {
    BufReader::new(running.child().stdout.take().expect("it is piped")).lines()
}

/// Reads until a line has a text.
fn until(lines: &mut Lines<BufReader<ChildStdout>>, text: &str) -> String {
    let mut seen = String::new();
    for line in lines.by_ref() {
        let line = line.expect("text");
        seen += &format!("{line}\n");
        if line.contains(text) {
            return line;
        }
    }
    panic!("{text:?} did not come:\n{seen}");
}

#[test]
fn watching_says_what_has_come_and_gone() {
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let user = User::new();
    let mut running =
        user.starts(&["checkup", "--watch", "--interval", "1s", "-p", &target.pid().to_string()]);
    let mut lines = lines(&mut running);
    until(&mut lines, "Healthy");
    target.suspend().unwrap();
    assert!(until(&mut lines, "  new ").contains("critical"));
    target.resume().unwrap();
    until(&mut lines, "  gone ");
    // One that began while it stood still could not ask the runtime; the next can.
    until(&mut lines, "Healthy");
    running.wait_looks();
    running.signal(Signal::INT);
    for line in lines.by_ref() {
        // The examination that was interrupted says nothing: it would tell of half of it.
        assert!(!line.unwrap().contains("You ended"));
    }
    // The verdict of the last whole examination; another may have begun and ended before the signal.
    let said = running.ends();
    assert_eq!(said.code, Some(0), "{said:?}");
    let listed = user.listed();
    let is_ended = |session: &Value| session["status"] == "done" || session["status"] == "cancelled";
    assert!(listed.iter().all(is_ended), "{listed:#?}");
    assert!(target.is_alive());
}

#[test]
fn watching_for_scripts_gives_one_report_a_line() {
    let target = shared().target("deadlock-ab-ba", Runtime::Net8).start().unwrap();
    let user = User::new();
    let mut running =
        user.starts(&["checkup", "--watch", "--interval", "1s", "--json", "-p", &target.pid().to_string()]);
    let mut lines = lines(&mut running);
    for _ in 0..2 {
        let line = lines.next().expect("a line").expect("text");
        let report = Report::from_json(&line).expect("a report");
        assert!(ids(&report).contains(&"deadlock"), "{report:?}");
    }
    running.signal(Signal::INT);
    drop(lines);
    assert_eq!(running.ends().code, Some(48));
}

#[test]
fn a_deep_checkup_looks_at_everything_and_says_how_long_that_takes() {
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let user = User::new();
    let said = user.says(&["checkup", "--deep", "--json", "-p", &target.pid().to_string()]);
    let report = Report::from_json(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    assert!(said.stderr.contains("everything: about "), "{}", said.stderr);
    let section = |id: &str| report.sections.iter().find(|section| section.id == id);
    let looks = format!("{:?} {:?}", section("looks"), section("unseen"));
    for step in checkup::STEPS.iter().filter(|step| !step.stands_in) {
        // Taken, or told with the reason why not.
        let checkup::Look::Profiler(id) = &step.look else { continue };
        assert!(looks.contains(id) || looks.contains(step.tells), "{id}: {looks}");
    }
    assert!(target.is_alive());
}

#[test]
fn a_program_that_ends_by_itself_is_told_as_far_as_it_was_seen() {
    let line = patient("healthy-idle-service");
    let user = User::new();
    let mut command = user.command(&["checkup", "--json", "--"]);
    line.apply_environment(&mut command);
    let running = start(command.args(line.words()));
    let session = user.wait_running();
    let pid = session["target"]["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).expect("a pid");
    crate::support::send(pid, Signal::KILL);
    let said = running.ends();
    let report = Report::from_json(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    assert_eq!(report.window.end, WindowEnd::TargetExited);
    assert!(said.stderr.contains("the program ended by itself"), "{}", said.stderr);
    assert_eq!(said.code, Some(0), "that it ends is no illness: {said:?}");
}

#[test]
fn a_program_without_a_runtime_is_refused() {
    let said = User::new().says(&["checkup", "--", "true"]);
    assert!(said.stdout.is_empty() && ![Some(0), Some(48)].contains(&said.code), "{said:?}");
    assert!(said.stderr.contains(".NET"), "{}", said.stderr);
}

#[test]
fn the_json_is_as_documented() {
    let target = shared().target("deadlock-ab-ba", Runtime::Net9).start().unwrap();
    let user = User::new();
    let said = user.says(&["checkup", "--json", "-p", &target.pid().to_string()]);
    let json = said.json();
    let schema = include_str!("../../docs/report.schema.json");
    assert_fits(&json, &serde_json::from_str(schema).unwrap());
    let finding = &json["findings"][0];
    for field in ["id", "severity", "confidence", "title", "culprit", "evidence", "advice"] {
        assert!(!finding[field].is_null(), "{field}: {finding}");
    }
    let schema: Value = serde_json::from_str(schema).unwrap();
    for field in finding.as_object().unwrap().keys() {
        assert!(schema["$defs"]["Finding"]["properties"][field].is_object(), "{field} is not documented");
    }
    assert_eq!(finding["command"], format!("drdotnet run deadlocks -p {}", target.pid()));
    let report = Report::from_json(&said.stdout).unwrap();
    assert!(report.findings.iter().any(|finding| finding.severity >= Severity::Warning));
    assert!(report.cost.pauses.count > 0 && report.cost.bytes > 0, "{:?}", report.cost);
}

/// Every runtime shows every sign.
#[test]
fn the_vital_signs_are_complete() {
    for runtime in Runtime::ALL {
        let target = shared().target("healthy-idle-service", runtime).start().unwrap();
        shows_all_signs(target.pid(), &runtime.to_string());
    }
    let stranger = shared().stranger().start().unwrap();
    shows_all_signs(stranger.pid(), "10");
}

fn shows_all_signs(pid: u32, runtime: &str) {
    let said = User::new().says(&["checkup", "-p", &pid.to_string()]);
    let signs = said.stdout.split("Vital signs").nth(1).unwrap_or_default();
    let signs = signs.split("\n\n").next().unwrap_or_default();
    for sign in [
        "CPU",
        "Threads",
        "Pool queue",
        "Heap",
        "Allocation",
        "Time in GC",
        "Exceptions",
        "Lock contention",
        "File descriptors",
        "Memory",
    ] {
        assert!(signs.contains(&format!("\n  {sign} ")), "{sign} on {runtime}:\n{}", said.stdout);
    }
    assert!(said.stdout.lines().all(|line| line.chars().count() <= 80), "{}", said.stdout);
}
