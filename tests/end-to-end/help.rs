//! The texts of the command line itself.

use crate::support::{User, check_golden};

#[test]
fn every_help_text_is_as_accepted_and_fits_a_narrow_terminal() {
    let user = User::new();
    for (name, arguments) in [
        ("drdotnet", &["--help"][..]),
        ("drdotnet-short", &["-h"]),
        ("ps", &["help", "ps"]),
        ("checkup", &["checkup", "--help"]),
        ("info", &["help", "info"]),
        ("run", &["run", "--help"]),
        ("profilers", &["help", "profilers"]),
        ("counters", &["counters", "--help"]),
        ("counters-monitor", &["counters", "monitor", "--help"]),
        ("counters-collect", &["counters", "collect", "--help"]),
        ("cpu", &["cpu", "--help"]),
        ("off-cpu", &["off-cpu", "--help"]),
        ("stack", &["stack", "--help"]),
        ("top", &["top", "--help"]),
        ("cpu-diff", &["cpu", "diff", "--help"]),
        ("trace", &["trace", "--help"]),
        ("trace-collect", &["trace", "collect", "--help"]),
        ("trace-list-profiles", &["trace", "list-profiles", "--help"]),
        ("heap", &["heap", "--help"]),
        ("heap-types", &["heap", "types", "--help"]),
        ("heap-paths", &["heap", "paths", "--help"]),
        ("heap-diff", &["heap", "diff", "--help"]),
        ("gcdump", &["gcdump", "--help"]),
        ("gcdump-collect", &["gcdump", "collect", "--help"]),
        ("gcdump-report", &["gcdump", "report", "--help"]),
        ("gcdump-diff", &["gcdump", "diff", "--help"]),
        ("gcdump-paths", &["gcdump", "paths", "--help"]),
        ("dump-collect", &["dump", "collect", "--help"]),
        ("symbols", &["symbols", "--help"]),
        ("symbols-fetch", &["symbols", "fetch", "--help"]),
        ("symbols-list", &["symbols", "list", "--help"]),
        ("symbols-path", &["symbols", "path", "--help"]),
        ("sessions", &["sessions", "--help"]),
        ("sessions-list", &["sessions", "list", "--help"]),
        ("sessions-show", &["sessions", "show", "--help"]),
        ("sessions-open", &["sessions", "open", "--help"]),
        ("sessions-export", &["sessions", "export", "--help"]),
        ("sessions-rm", &["sessions", "rm", "--help"]),
    ] {
        let said = user.says(arguments);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        check_golden(&format!("help/{name}.txt"), &said.stdout);
        for line in said.stdout.lines() {
            assert!(line.chars().count() <= 80 && line.trim_end() == line, "{arguments:?}: {line:?}");
        }
    }
    assert_eq!(user.says(&["help", "run"]).stdout, user.says(&["run", "--help"]).stdout);
}

#[test]
fn the_profilers_are_listed_and_described() {
    let user = User::new();
    for (name, arguments) in [
        ("list", &["profilers"][..]),
        ("threads", &["profilers", "threads"]),
        ("json", &["profilers", "--json"]),
    ] {
        let said = user.says(arguments);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        check_golden(&format!("profilers/{name}.txt"), &said.stdout);
        let narrow = name == "json" || said.stdout.lines().all(|line| line.chars().count() <= 80);
        assert!(narrow, "{}", said.stdout);
    }
    assert!(user.says(&["profilers", "--json"]).json()["profilers"][0]["parameters"].is_array());
}

#[test]
fn the_version_is_told() {
    let said = User::new().says(&["--version"]);
    assert_eq!(said.stdout, format!("drdotnet {}\n", env!("CARGO_PKG_VERSION")));
}
