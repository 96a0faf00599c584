//! Commands that documents and findings name can be run as they stand there.

use std::path::Path;

use clap::Parser;
use clap::error::ErrorKind;

use super::Arguments;

/// Every `drdotnet ...` of a page: in its text, and in the lines of its examples.
fn commands(page: &str) -> Vec<String> {
    // Without a process it is only the name of a command.
    let in_text = page.split('`').skip(1).step_by(2);
    let in_text = in_text.filter(|code| code.starts_with("drdotnet ") && code.contains(" -"));
    let in_examples = page.lines().map(|line| line.trim_start().trim_start_matches("$ "));
    let in_examples = in_examples.filter(|line| line.starts_with("drdotnet "));
    in_text.chain(in_examples).filter_map(command).collect()
}

/// Without remarks, redirections and ends of sentences; nothing if it is no whole command.
fn command(text: &str) -> Option<String> {
    let text = text.split(['#', '>', '|', '\n']).next().unwrap_or_default();
    let text = text.split("   ").next().unwrap_or_default().trim();
    (!text.contains("...") && !text.contains('`')).then(|| text.replace("PID", "4242"))
}

#[track_caller]
fn assert_can_be_run(command: &str) {
    let words = command.split_ascii_whitespace();
    match Arguments::try_parse_from(words) {
        Ok(_) => {}
        Err(help) if matches!(help.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {}
        Err(error) => panic!("{command}: {error}"),
    }
    let mut words = command.split_ascii_whitespace().skip(1);
    if words.next() == Some("run") {
        let profiler = words.next().expect("a profiler");
        assert!(profilers::by_id(profiler).is_ok(), "{command}: there is no profiler {profiler}");
    }
}

#[test]
fn commands_of_the_guide_can_be_run() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut seen = 0;
    let pages = ["guide.md", "checkup.md"].map(|name| docs.join(name));
    let of_rules = std::fs::read_dir(docs.join("checkup")).into_iter().flatten().flatten();
    for page in pages.into_iter().chain(of_rules.map(|entry| entry.path())) {
        for command in commands(&std::fs::read_to_string(&page).expect("a page")) {
            assert_can_be_run(&command);
            seen += 1;
        }
    }
    assert!(seen > 40, "{seen}");
}

#[test]
fn commands_of_findings_can_be_run() {
    for rule in checkup::RULES {
        assert_can_be_run(&format!("drdotnet {} -p 4242", rule.deeper));
    }
}
