//! `drdotnet cpu` on several processes at once: `--all` and `--children`.

use std::process::Command;

use serde_json::Value;
use testbed::{Namespaces, Runtime, shared};

use crate::cpu::{HOT, kept, may_watch_all};
use crate::cpu_rights::{BEHIND_FILTER, FILTERED, json};
use crate::support::{BINARY, Said, User, said, skip};

fn row(overview: &Value, pid: u64) -> Value {
    let rows = overview["processes"].as_array().expect("rows");
    rows.iter().find(|row| row["pid"] == pid).unwrap_or_else(|| panic!("{pid}: {overview:#}")).clone()
}

/// Starts a busy and an idle patient in a pid namespace of their own, so that nobody else's processes are meant, and then
/// runs a script there: `$folder` is the user's, the words are the script's. None, with a printed reason, without root.
fn among_two(user: &User, script: &str, words: &[&str], environment: &[(&str, &str)]) -> Option<Said> {
    if let Err(reason) = Namespaces::available() {
        skip(&reason.to_string());
        return None;
    }
    let begin = r#"set -e
        folder=$1; program=$2; exec=$3; option=$4; config=$5; assembly=$6; shift 6
        "$program" "$exec" "$option" "$config" "$assembly" hot-method > "$folder/hot" &
        "$program" "$exec" "$option" "$config" "$assembly" healthy-idle-service > "$folder/idle" &
        until grep -q ready "$folder/hot" && grep -q ready "$folder/idle"; do sleep 0.1; done
        "#;
    let line = shared().target("hot-method", Runtime::Net9).command().expect("a command line");
    let patient = line.words();
    assert_eq!(patient.len(), 6, "{patient:?}");
    let mut command = Command::new("unshare");
    line.apply_environment(&mut command);
    user.prepare(&mut command);
    command.args(["--pid", "--mount", "--fork", "--kill-child", "--mount-proc", "sh", "-c"]);
    command.arg(format!("{begin}{script}")).arg("sh").arg(user.folder()).args(&patient[..5]).args(words);
    Some(said(command.envs(environment.iter().copied())))
}

#[test]
fn all_processes_are_recorded_in_one_run_each_with_a_session() {
    if !may_watch_all() {
        return;
    }
    let user = User::new();
    let script = r#""$1" cpu --all -d 2 --json -o "$folder/out" > "$folder/json"; "$1" cpu --all -d 1"#;
    let Some(run) = among_two(&user, script, &[BINARY], &[]) else { return };
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let overview: Value =
        serde_json::from_str(&std::fs::read_to_string(user.folder().join("json")).unwrap()).unwrap();
    assert_eq!(overview["schema"], "drdotnet.kernel-overview/1");
    assert_eq!(overview["processes"].as_array().unwrap().len(), 2, "{overview:#}");
    assert_eq!(overview["reports"].as_array().unwrap().len(), 2);
    let hot = overview["processes"].as_array().unwrap().iter().find(|row| row["hottest"] == HOT);
    let hot = hot.unwrap_or_else(|| panic!("{overview:#}"));
    assert!(hot["samples"].as_u64().unwrap() > 0 && hot["cpu_ns"].as_u64().unwrap() > 0, "{hot:#}");
    let folder = user.folder().join("out").join(hot["pid"].to_string());
    assert_eq!(hot["session"], folder.to_str().unwrap());
    assert!(folder.join("flamegraph.html").exists());
    assert_eq!(kept(&folder).processes.len(), 1);
    // The second one, as a person sees it.
    let first = run.stdout.lines().nth(1).unwrap_or_default();
    assert!(run.stdout.starts_with("PID  Process ") || run.stdout.starts_with(" PID"), "{}", run.stdout);
    assert!(first.contains(HOT), "{}", run.stdout);
    assert!(run.stderr.contains("kept 2 sessions (drdotnet sessions list)"), "{}", run.stderr);
    assert_eq!(user.listed().len(), 2);
}

#[test]
fn all_processes_are_asked_where_the_kernel_gives_nothing() {
    let user = User::new();
    let program = std::env::current_exe().unwrap();
    let words = [&[program.to_str().unwrap()], &BEHIND_FILTER[..]].concat();
    let task = [BINARY, "cpu", "--all", "-d", "2", "--json"].join("\n");
    let Some(run) = among_two(&user, r#""$@""#, &words, &[(FILTERED, &task)]) else { return };
    let overview: Value = serde_json::from_str(json(&run.stdout)).unwrap_or_else(|_| panic!("{run:?}"));
    let rows = overview["processes"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{overview:#}");
    assert!(rows.iter().any(|row| row["summary"].as_str().unwrap().contains(HOT)), "{overview:#}");
    for report in overview["reports"].as_array().unwrap() {
        assert_eq!(report["profiler"]["id"], "cpu-unprivileged");
    }
    assert_eq!(user.listed().len(), 2);
}

#[test]
fn children_are_recorded_too_those_of_dotnet_with_names() {
    if !may_watch_all() {
        return;
    }
    let user = User::new();
    let target = shared().target("healthy-starts-children", Runtime::Net9).start().unwrap();
    let child: u64 = target.value_of("child").unwrap().parse().unwrap();
    let pid = target.pid().to_string();
    let run = user.says(&["cpu", "-p", &pid, "-d", "1", "--children", "--rate", "999", "--json"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains(&format!("-cpu-{pid}/flamegraph.html   (open")), "{}", run.stderr);
    let overview = run.json();
    assert_eq!(row(&overview, target.pid().into())["dotnet"], true);
    let found = row(&overview, child);
    assert_eq!((&found["dotnet"], &found["name"]), (&true.into(), &"Patients".into()), "{overview:#}");
    assert!(std::path::Path::new(found["session"].as_str().unwrap()).join("report.json").exists());
    assert_eq!(user.listed().len(), 2);
}

#[test]
fn children_that_are_no_dotnet_programs_are_told_by_their_native_names() {
    if !may_watch_all() {
        return;
    }
    let user = User::new();
    let line = shared().target("hot-method", Runtime::Net9).command().unwrap();
    let mut command = Command::new(BINARY);
    line.apply_environment(&mut command);
    user.prepare(&mut command);
    // The shell starts work of its own and then becomes the .NET program, whose child the work is.
    let script = r#"(while :; do :; done) & exec "$@""#;
    command
        .args(["cpu", "-d", "2", "--children", "--json", "--", "sh", "-c", script, "sh"])
        .args(line.words());
    let run = said(&mut command);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let overview = run.json();
    let rows = overview["processes"].as_array().unwrap();
    let native = rows.iter().find(|row| row["dotnet"] == false).unwrap_or_else(|| panic!("{overview:#}"));
    assert_eq!(native["name"], "sh", "{overview:#}");
    assert!(native["samples"].as_u64().unwrap() > 0, "{overview:#}");
    assert!(native["session"].is_null());
}
