//! What a person sees: width, colour, and names that try to steer the terminal.

use testbed::{Runtime, shared};

use crate::support::{User, check_golden, skip, start_named};

const ESCAPE: char = '\u{1b}';
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}";

/// A text as a terminal shows it: without colours.
fn plain(text: &str) -> String {
    let mut parts = text.split(ESCAPE);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).map_or(0, |end| end + 1);
        text + &part[end..]
    })
}

#[test]
fn the_list_of_processes_fits_a_narrow_terminal_and_still_tells_them_apart() {
    let user = User::new();
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let Some(screen) = user.sees(80, &["ps"], &[]) else { return };
    let screen = plain(&screen);
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    let own = |line: &&str| line.trim_start().starts_with(&format!("{} ", target.pid()));
    let line = screen.lines().find(own).unwrap_or_else(|| panic!("{screen}"));
    for part in ["Patients", " 9.0.", " MB ", " % ", " heal"] {
        assert!(line.contains(part), "{part}: {screen}");
    }

    let piped = user.says(&["ps"]).stdout;
    let line = piped.lines().find(own).unwrap_or_else(|| panic!("{piped}"));
    assert!(line.ends_with("Patients.dll healthy-idle-service"), "{line}");
    assert!(line.contains(" x64 "), "{line}");
}

#[test]
fn a_description_fits_a_narrow_terminal() {
    let user = User::new();
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let Some(screen) = user.sees(80, &["info", "-p", &target.pid().to_string()], &[]) else { return };
    let screen = plain(&screen);
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    let whole: String = screen.split_whitespace().collect();
    assert!(whole.contains("Patients.dllhealthy-idle-service"), "nothing of the command is cut: {screen}");
}

#[test]
fn a_report_and_an_error_fit_a_narrow_terminal() {
    let user = User::new();
    let target = shared().target("hot-method", Runtime::Net9).start().unwrap();
    let pid = target.pid().to_string();
    let Some(screen) = user.sees(80, &["run", "threads", "-p", &pid, "-d", "1"], &[]) else { return };
    assert!(screen.contains("] 0 s of 1 s"), "progress is shown: {screen}");
    let screen = plain(&screen);
    let lines = screen.lines().map(|line| line.rsplit('\r').next().unwrap_or(line));
    assert!(lines.clone().all(|line| line.chars().count() <= 80), "{screen}");
    assert!(lines.clone().any(|line| line.starts_with("Threads · Patients")), "{screen}");
    let error = plain(&user.sees(60, &["run", "threads", "-n", "no-such-name"], &[]).unwrap());
    assert!(error.starts_with("error: no .NET process is named 'no-such-name'\n"), "{error}");
    assert!(error.lines().all(|line| line.chars().count() <= 60), "{error}");
}

#[test]
fn colour_is_for_terminals_and_for_those_who_want_it() {
    let user = User::new();
    let _target = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    assert!(!user.says(&["ps"]).stdout.contains(ESCAPE));
    assert!(user.says(&["--color", "always", "ps"]).stdout.contains(ESCAPE));
    assert!(!user.says(&["run", "nonsense", "-p", "1"]).stderr.contains(ESCAPE));
    let Some(screen) = user.sees(80, &["ps"], &[]) else { return };
    assert!(screen.contains(ESCAPE), "{screen}");
    for (arguments, environment) in [
        (vec!["ps"], vec![("NO_COLOR", "1")]),
        (vec!["ps"], vec![("TERM", "dumb")]),
        (vec!["ps", "--color", "never"], vec![]),
    ] {
        let screen = user.sees(80, &arguments, &environment).unwrap();
        assert!(!screen.contains(ESCAPE), "{arguments:?} {environment:?}: {screen:?}");
    }
}

#[test]
fn names_of_the_target_cannot_steer_the_terminal() {
    let user = User::new();
    let builder = shared().target("healthy-idle-service", Runtime::Net8).env("HOSTILE", HOSTILE);
    // The name of the program becomes its first argument and the name of its main thread.
    let program =
        start_named(&user, format!("{HOSTILE}-{}", std::process::id()), &builder.command().unwrap());
    let pid = program.pid().to_string();
    let report = crate::support::eventually("the program runs", || {
        let said = user.says(&["run", "threads", "-p", &pid, "-d", "0.1"]);
        (said.code == Some(0)).then_some(said.stdout)
    });
    let export = |format: &str| user.says(&["sessions", "export", "last", "-f", format]).stdout;
    let mut texts = vec![
        ("run", report),
        ("ps", user.says(&["ps"]).stdout),
        ("info", user.says(&["info", "-p", &pid]).stdout),
        ("error", user.says(&["run", "threads", "-n", HOSTILE]).stderr),
        ("sessions", user.says(&["sessions", "list"]).stdout),
    ];
    texts.extend(["terminal", "markdown", "html"].map(|format| (format, export(format))));
    for (what, text) in &texts {
        assert!(!text.contains([ESCAPE, '\u{7}', '\u{202e}']), "{what}: {text:?}");
    }
    assert!(
        texts[2].1.contains(r"\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}"),
        "it is shown harmless: {}",
        texts[2].1
    );
    match user.sees(80, &["ps"], &[("NO_COLOR", "1")]) {
        Some(screen) => assert!(!screen.contains(ESCAPE), "{screen:?}"),
        None => skip("the same at a terminal"),
    }
}

/// The part of a report above its tables, whose numbers, places on disk and line breaks differ from run to run.
fn verdict(report: &str, first_table: &str) -> String {
    let above = report.split(&format!("\n{first_table}\n")).next().unwrap_or_default();
    let words = above.split_whitespace().map(|word| {
        let word = word.rsplit_once('/').map_or(word, |(_, name)| name);
        let mut plain = String::new();
        for letter in word.chars() {
            match letter {
                _ if letter.is_ascii_digit() && plain.ends_with('N') => {}
                ',' | '.' | '-' | ':' if plain.ends_with('N') => {}
                _ if letter.is_ascii_digit() => plain.push('N'),
                _ => plain.push(letter),
            }
        }
        plain
    });
    let text = words.collect::<Vec<_>>().join(" ");
    text.replace(" warning ", "\nwarning ").replace(" -> ", "\n-> ").replace(" us ", " ms ") + "\n"
}

#[test]
fn the_first_lines_of_a_report_hold_the_answer() {
    let user = User::new();
    let target = shared().target("exception-storm", Runtime::Net9).start().unwrap();
    let pid = target.pid().to_string();
    let said = user.says(&["run", "exceptions", "-p", &pid, "-d", "3"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    // One may be in flight when the session ends.
    let verdict = verdict(&said.stdout, "Exceptions").replace("Caught N %,", "Caught all,");
    check_golden("exceptions.txt", &verdict);
}
