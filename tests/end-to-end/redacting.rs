//! `--redact`: texts of the target's data are in nothing that is shown or kept.

use std::fs;
use std::path::Path;

use model::{Body, Cell, Redaction, Report};
use rustix::process::Signal;
use testbed::{Runtime, Target, shared};

use crate::support::{User, eventually, said};

/// Part of the message of every exception that the patient throws.
const IN_MESSAGES: &str = "19,90 EUR";
const IN_ENVIRONMENT: &str = "acme-prod-4711";

fn target() -> Target {
    let patient = shared().target("exception-storm", Runtime::Net9);
    patient.arg("rate=500").env("TENANT", IN_ENVIRONMENT).start().expect("the patient")
}

fn has_message(bytes: &[u8]) -> bool {
    bytes.windows(IN_MESSAGES.len()).any(|window| window == IN_MESSAGES.as_bytes())
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    fs::read_dir(folder).expect("the session's folder").map(|entry| entry.expect("an entry").path()).collect()
}

fn messages(report: &Report) -> Vec<Cell> {
    let section = report.sections.iter().find(|section| section.id == "messages").expect("messages");
    let Body::Table(table) = &section.body else { panic!("{section:?}") };
    table.rows.iter().map(|row| row[0].clone()).collect()
}

#[test]
fn a_message_is_in_no_rendering_and_no_file_of_a_redacted_session() {
    let (user, target) = (User::new(), target());
    let pid = target.pid().to_string();
    let plain = user.says(&["run", "exceptions", "-p", &pid, "-d", "1", "--json"]);
    assert!(has_message(plain.stdout.as_bytes()), "the patient throws it: {}", plain.stdout);
    let Cell::Text(message) = &messages(&plain.report())[0] else { panic!("{}", plain.stdout) };

    let text = user.says(&["run", "exceptions", "-p", &pid, "-d", "1", "--redact"]);
    assert_eq!(text.code, Some(0), "{}", text.stderr);
    assert!(!has_message(text.stdout.as_bytes()) && !has_message(text.stderr.as_bytes()), "{}", text.stdout);
    // Typed before the command it counts as well, and the same text has the same hash in every run.
    let json = user.says(&["--redact", "run", "exceptions", "-p", &pid, "-d", "1", "--json"]);
    assert_eq!(messages(&json.report()), [Cell::from(Redaction::On.text(message))]);
    assert!(text.stdout.contains(&Redaction::On.text(message)), "{}", text.stdout);

    let folder = user.sessions().join(user.listed()[0]["id"].as_str().expect("an id"));
    assert_eq!(user.says(&["sessions", "open", "last"]).code, Some(0));
    for format in ["markdown", "html", "json", "terminal"] {
        let said = user.says(&["sessions", "export", "last", "--format", format, "--redact"]);
        assert!(!said.stdout.is_empty() || said.code != Some(0), "{format}");
        assert!(!has_message(said.stdout.as_bytes()), "{format}: {}", said.stdout);
    }
    let archive = user.folder().join("all");
    assert_eq!(
        user.says(&["sessions", "export", "last", "-o", archive.with_extension("zip").to_str().unwrap()])
            .code,
        Some(0)
    );
    let kept = files(&folder);
    assert!(kept.iter().any(|file| file.ends_with("report.html")), "{kept:?}");
    for file in kept {
        let bytes = fs::read(&file).expect("a file of the session");
        assert!(!has_message(&bytes), "{}", file.display());
    }
}

#[test]
fn arguments_and_environment_are_shown_as_length_and_hash() {
    let (user, target) = (User::new(), target());
    let pid = target.pid().to_string();
    let plain = user.says(&["info", "-p", &pid]).stdout;
    assert!(plain.contains(IN_ENVIRONMENT) && plain.contains("rate=500"), "{plain}");
    for arguments in
        [&["info", "-p", &pid] as &[&str], &["info", "-p", &pid, "--json"], &["ps", "--json"], &["ps"]]
    {
        let shown = user.says(&[arguments, &["--redact"]].concat()).stdout;
        assert!(!shown.contains(IN_ENVIRONMENT) && !shown.contains("rate=500"), "{arguments:?}: {shown}");
    }
    let shown = user.says(&["info", "-p", &pid, "--redact"]).stdout;
    assert!(shown.contains(&Redaction::On.text(IN_ENVIRONMENT)), "{shown}");
    assert!(shown.contains("Patients.dll"), "what runs is still told: {shown}");

    let report = user.says(&["run", "threads", "-p", &pid, "-d", "0.1", "--redact", "--json"]).report();
    let command = report.target.command_line.expect("a command line");
    assert!(!command.contains("rate=500") && command.contains(&Redaction::On.text("rate=500")), "{command}");
    assert_eq!(report.profiler.parameters["redact"], "yes");
}

#[test]
fn what_cannot_be_redacted_is_refused_before_anything_is_done() {
    let (user, target) = (User::new(), target());
    let pid = target.pid().to_string();
    let run = user.says(&["run", "exceptions", "-p", &pid, "-d", "0.5"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let file = user.folder().join("raw");
    let file = file.to_str().expect("a path");
    for arguments in [
        &["trace", "collect", "-p", &pid, "-o", file, "--duration", "1s"] as &[&str],
        &["dump", "collect", "-p", &pid, "-o", file],
        &["sessions", "show", "last"],
        &["sessions", "export", "last"],
        &["sessions", "open", "last"],
    ] {
        let said = user.says(&[arguments, &["--redact"]].concat());
        assert_eq!(said.code, Some(49), "{arguments:?}: {}", said.stderr);
        assert!(said.stderr.contains("cannot be redacted"), "{}", said.stderr);
        assert!(said.stdout.is_empty() && !Path::new(file).exists(), "{arguments:?}");
    }
    let mut by_variable = user.command(&["sessions", "show", "last"]);
    assert_eq!(said(by_variable.env("DRDOTNET_REDACT", "1")).code, Some(49));
    assert_eq!(said(by_variable.env("DRDOTNET_REDACT", "0")).code, Some(0));
}

#[test]
fn values_of_tags_and_messages_of_instruments_are_hidden() {
    let user = User::new();
    let target =
        shared().target("healthy-metrics", Runtime::Net9).arg("broken=1").start().expect("the target");
    let file = user.folder().join("out.json");
    let arguments = ["counters", "collect", "-p", &target.pid().to_string(), "--counters", "Box.Office"];
    let more = ["--format", "json", "--redact", "-o", file.to_str().expect("a path")];
    let run = user.starts(&[&arguments[..], &more].concat());
    let hidden = Redaction::On.text("Gent");
    eventually("values", || fs::read_to_string(&file).ok()?.contains(&hidden).then_some(()));
    run.signal(Signal::TERM);
    let said = run.ends();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let text = fs::read_to_string(&file).expect("the file");
    for value in ["Gent", "cash", "sensor"] {
        assert!(!text.contains(value) && !said.stderr.contains(value), "{value}: {}\n{text}", said.stderr);
    }
    assert!(text.contains("city=(4 characters, #") && text.contains("tickets.sold"), "{text}");
}
