//! What goes wrong, each with a message and an exit code of its own.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;

use testbed::{Runtime, Target, shared};

use crate::support::{Said, User, check_golden, copy_for_others, is_root, said, skip, start};

fn target() -> Target {
    shared().target("healthy-idle-service", Runtime::Net9).start().expect("a target")
}

/// Compares exit code and error with the accepted ones; `changing` are words that differ from run to run.
#[track_caller]
fn check(name: &str, said: &Said, changing: &[(&str, &str)]) {
    let mut text = format!("exit code {}\n{}", said.code.expect("no signal ended it"), said.stderr);
    for (value, word) in changing {
        text = text.replace(value, word);
    }
    // Which other processes there are is another test's business.
    let lines = text.lines().map(|line| match line.split_once("lists the .NET processes: ") {
        Some((before, _)) => format!("{before}lists the .NET processes: ...\n"),
        None => format!("{line}\n"),
    });
    check_golden(&format!("errors/{name}.txt"), &lines.collect::<String>());
}

#[test]
fn no_process_has_the_pid() {
    let (user, _other) = (User::new(), target());
    let free =
        Command::new("true").spawn().map(|mut child| child.wait().map(|_| child.id())).unwrap().unwrap();
    for command in [vec!["info"], vec!["run", "threads"]] {
        let said = user.says(&[&command[..], &["-p", &free.to_string()]].concat());
        check("no-such-pid", &said, &[(&free.to_string(), "PID")]);
        assert_eq!(said.stdout, "");
    }
    assert!(!user.sessions().exists(), "nothing was begun");
}

#[test]
fn the_process_is_not_a_dotnet_process() {
    let user = User::new();
    let sleep = start(Command::new("sleep").arg("1000"));
    let pid = sleep.pid().to_string();
    check("not-dotnet", &user.says(&["info", "-p", &pid]), &[(&pid, "PID")]);
}

#[test]
fn the_process_belongs_to_another_user() {
    if !is_root() {
        return;
    }
    let (user, target) = (User::new(), target());
    let (_folder, binary) = copy_for_others();
    let pid = target.pid().to_string();
    let mut command = Command::new(&binary);
    user.prepare(&mut command);
    command.args(["info", "-p", &pid]).uid(65534).gid(65534).current_dir("/");
    let said = said(&mut command);
    assert!(
        said.stdout.contains(&format!("Process       {pid} Patients\n")),
        "what is known: {}",
        said.stdout
    );
    assert!(said.stdout.contains("\nEnvironment: not readable by this user\n"), "{}", said.stdout);
    check("another-user", &said, &[(&pid, "PID")]);
}

#[test]
fn the_diagnostics_are_off() {
    let user = User::new();
    let target = shared().target("healthy-idle-service", Runtime::Net9);
    let target = target.env("DOTNET_EnableDiagnostics", "0").start().unwrap();
    let pid = target.pid().to_string();
    let said = user.says(&["info", "-p", &pid]);
    assert!(
        said.stdout.contains(&format!("Process       {pid} Patients\n")),
        "what is known: {}",
        said.stdout
    );
    assert!(said.stdout.contains("\n  DOTNET_EnableDiagnostics "), "{}", said.stdout);
    check("diagnostics-off", &said, &[(&pid, "PID")]);
    let listed = user.says(&["ps"]).stdout;
    let line =
        listed.lines().find(|line| line.starts_with("! ") && line.contains(&format!(" {pid} Patients")));
    assert!(
        line.is_some_and(|line| line.ends_with(": diagnostics are off (DOTNET_EnableDiagnostics=0)")),
        "{listed}"
    );
}

#[test]
fn nobody_answers_at_the_socket() {
    let (user, target) = (User::new(), target());
    let pid = target.pid().to_string();
    let socket = user.says(&["info", "-p", &pid, "--json"]).json()["process"]["socket"].clone();
    // The runtime serves one caller at a time: whoever connects and says nothing keeps it from all others.
    let silent = UnixStream::connect(socket.as_str().unwrap()).unwrap();
    let said = user.says(&["info", "-p", &pid]);
    drop(silent);
    let waited = said.stderr.split_once("(waited ").and_then(|(_, rest)| rest.split(')').next()).unwrap();
    check("no-answer", &said, &[(&pid, "PID"), (waited, "N s")]);
}

#[test]
fn a_stopped_process_cannot_answer() {
    let (user, target) = (User::new(), target());
    let pid = target.pid().to_string();
    target.suspend().unwrap();
    let said = user.says(&["info", "-p", &pid]);
    let listed = user.says(&["ps", "--json"]).json();
    target.resume().unwrap();
    assert!(
        said.stdout.contains(&format!("Process       {pid} Patients\n")),
        "what is known: {}",
        said.stdout
    );
    check("stopped", &said, &[(&pid, "PID")]);
    let rows = listed["processes"].as_array().unwrap();
    let row = rows.iter().find(|row| row["pid"] == target.pid()).unwrap();
    assert_eq!(row["status"], "no-answer", "{row:#}");
}

#[test]
fn words_that_are_no_profiler_parameter_duration_or_format_are_answered_with_a_way_out() {
    let (user, target) = (User::new(), target());
    let pid = target.pid().to_string();
    let run = |options: &[&str]| user.says(&[&["run", "threads", "-p", &pid], options].concat());
    check("profiler-misspelt", &user.says(&["run", "thread", "-p", &pid]), &[]);
    check("profiler-unknown", &user.says(&["run", "zzz", "-p", &pid]), &[]);
    check("profiler-unknown", &user.says(&["profilers", "zzz"]), &[]);
    check("parameter-misspelt", &run(&["--set", "tpo=3"]), &[]);
    check("parameter-unknown", &run(&["--set", "colour=red"]), &[]);
    check("parameter-without-value", &run(&["--set", "top"]), &[]);
    check("parameter-out-of-range", &run(&["--set", "top=0"]), &[]);
    check("parameter-no-choice", &run(&["--set", "sort=size"]), &[]);
    check("duration-malformed", &run(&["--duration", "ten"]), &[]);
    check("duration-zero", &run(&["--duration", "0s"]), &[]);
    check("duration-too-long", &run(&["--duration", "400:00:00:00"]), &[]);
    assert!(!user.sessions().exists(), "nothing was begun");
    user.says(&["run", "threads", "-p", &pid, "-d", "0.1"]);
    check("format-misspelt", &user.says(&["sessions", "export", "last", "-f", "htm"]), &[]);
    check("format-unknown", &user.says(&["sessions", "export", "last", "-f", "pdf"]), &[]);
    check("age-malformed", &user.says(&["sessions", "rm", "--older-than", "soon"]), &[]);
}

#[test]
fn the_command_line_says_no_process_or_too_many() {
    let user = User::new();
    check("no-target", &user.says(&["run", "threads"]), &[]);
    check("two-targets", &user.says(&["run", "threads", "-p", "1", "-n", "Shop"]), &[]);
    check("pid-not-a-number", &user.says(&["info", "-p", "shop"]), &[]);
    check("rm-without-a-session", &user.says(&["sessions", "rm"]), &[]);
}

#[test]
fn a_name_that_two_processes_have_is_answered_with_both() {
    let (user, first, second) = (User::new(), target(), target());
    let said = user.says(&["run", "threads", "-n", "patients"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(13), ""));
    let lines: Vec<&str> = said.stderr.lines().collect();
    assert!(lines[0].ends_with(" .NET processes are named 'patients'"), "{}", said.stderr);
    assert_eq!(lines[1], "  next: choose one by its pid:");
    // Other tests have processes of this name as well, and the list is cut at eight.
    for pid in [first.pid(), second.pid()] {
        let line = format!("        -p {pid}   Patients.dll healthy-idle-service");
        assert!(
            lines.contains(&line.as_str()) || said.stderr.contains(" more: drdotnet ps"),
            "{}",
            said.stderr
        );
    }
}

#[test]
fn a_name_that_no_process_has() {
    let (user, _other) = (User::new(), target());
    check("no-such-name", &user.says(&["info", "-n", "Shop.Api"]), &[]);
}

#[test]
fn sessions_that_are_unknown_ambiguous_or_damaged() {
    let (user, target) = (User::new(), target());
    let pid = target.pid().to_string();
    let folder = user.sessions();
    let sessions = folder.to_str().unwrap();
    check("no-such-session", &user.says(&["sessions", "show", "nope"]), &[(sessions, "DIR")]);
    check("no-session-yet", &user.says(&["sessions", "show", "last"]), &[(sessions, "DIR")]);
    user.says(&["run", "threads", "-p", &pid, "-d", "0.1"]);
    user.says(&["run", "threads", "-p", &pid, "-d", "0.1"]);
    let ids: Vec<String> = user.listed().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    let names =
        [(ids[0].as_str(), "ID-2"), (ids[1].as_str(), "ID-1"), (sessions, "DIR"), (&ids[0][..4], "YEAR")];
    check("ambiguous-session", &user.says(&["sessions", "show", &ids[0][..4]]), &names);

    fs::write(folder.join(&ids[0]).join("session.json"), "{").unwrap();
    check("corrupt-session", &user.says(&["sessions", "show", &ids[0]]), &names);
    let report = folder.join(&ids[1]).join("report.json");
    fs::write(&report, &fs::read(&report).unwrap()[..100]).unwrap();
    check("corrupt-report", &user.says(&["sessions", "show", &ids[1]]), &names);
    let elsewhere = user.folder().to_str().unwrap();
    check("no-session-there", &user.says(&["sessions", "show", elsewhere]), &[(elsewhere, "DIR")]);
    fs::remove_file(&report).unwrap();
    check("missing-report", &user.says(&["sessions", "show", &ids[1]]), &names);
    // One damaged session does not hide the others, and can be removed.
    let listed = user.listed();
    assert_eq!((&listed[0]["status"], &listed[1]["status"]), (&"corrupt".into(), &"done".into()));
    assert_eq!(user.says(&["sessions", "rm", &ids[0]]).code, Some(0));
    assert_eq!(user.listed().len(), 1);
}

#[test]
fn a_program_that_is_no_program_or_has_no_runtime() {
    let user = User::new();
    check("no-such-program", &user.says(&["run", "threads", "--", "no-such-program"]), &[]);
    check("program-without-runtime", &user.says(&["run", "threads", "--", "sh", "-c", "exit 3"]), &[]);
    assert!(!user.sessions().exists(), "nothing was begun");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let (user, _target) = (User::new(), target());
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let child = user.command(&["ps"]).stdout(writer).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let said = Said::from(child.wait_with_output().unwrap());
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
}

#[test]
fn every_exit_code_has_one_meaning_and_is_documented() {
    let source = include_str!("../../crates/cli/src/exit_code.rs");
    let lines = source.lines().filter_map(|line| line.trim().strip_suffix(',')?.split_once(" = "));
    let codes: Vec<(u8, &str)> = lines.map(|(name, code)| (code.parse().unwrap(), name)).collect();
    let different: BTreeSet<u8> = codes.iter().map(|(code, _)| *code).collect();
    assert_eq!(codes.len(), different.len(), "two names share a code: {codes:?}");
    assert!(codes.len() > 15, "{codes:?}");
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/troubleshooting.md");
    match fs::read_to_string(page) {
        Ok(page) => {
            for (code, name) in &codes {
                assert!(page.contains(&format!("\n| {code} | ")), "{name} ({code}) is not documented");
            }
        }
        Err(error) => skip(&format!("docs/troubleshooting.md: {error}")),
    }
}
