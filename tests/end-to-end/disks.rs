//! Disks that are full or read-only. They are mounted in a namespace of the test's own, which needs root.

use std::process::Command;

use model::Report;
use testbed::{Namespaces, Runtime, shared};

use crate::support::{BINARY, Said, User, check_golden, said, skip};

/// `drdotnet run` with its sessions on a new file system; `$1` is where it is mounted.
fn run_on(user: &User, mount: &str) -> Option<Said> {
    if let Err(reason) = Namespaces::available() {
        skip(&reason.to_string());
        return None;
    }
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().expect("a target");
    std::fs::create_dir(user.sessions()).expect("a mount point");
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &format!("set -e; {mount}; shift; exec \"$@\""), "sh"]);
    command.arg(user.sessions()).args([BINARY, "run", "threads", "-d", "0.2", "--json"]);
    command.args(["-p", &target.pid().to_string()]);
    user.prepare(&mut command);
    let said = said(&mut command);
    assert_eq!(said.code, Some(9), "{said:?}");
    Some(said)
}

/// The error with names of folders that do not change from run to run.
fn error(said: &Said, user: &User) -> String {
    let text = said.stderr.split_once("error: ").map_or("", |(_, error)| error);
    let text = format!("error: {text}").replace(user.sessions().to_str().expect("a path"), "DIR");
    let id = text.split_once("DIR/").and_then(|(_, rest)| rest.split(['/', ':']).next());
    id.map_or(text.clone(), |id| text.replace(id, "ID"))
}

#[test]
fn a_disk_that_fills_up_while_measuring_costs_the_session_but_not_the_report() {
    let user = User::new();
    // One block: enough for what is written at the start, not for the report.
    let Some(said) = run_on(&user, "mount -t tmpfs -o size=4k tmpfs \"$1\"") else { return };
    assert_eq!(Report::from_json(&said.stdout).unwrap().sections[0].id, "threads");
    check_golden("errors/disk-full-at-the-end.txt", &error(&said, &user));
}

#[test]
fn a_full_disk_is_noticed_before_anything_is_measured() {
    let user = User::new();
    let fill = "mount -t tmpfs -o size=4k tmpfs \"$1\"; head -c 4096 /dev/zero > \"$1/full\"";
    let Some(said) = run_on(&user, fill) else { return };
    assert_eq!(said.stdout, "");
    check_golden("errors/disk-full.txt", &error(&said, &user));
}

#[test]
fn a_read_only_disk_is_noticed_before_anything_is_measured() {
    let user = User::new();
    let Some(said) = run_on(&user, "mount -t tmpfs -o ro tmpfs \"$1\"") else { return };
    assert_eq!(said.stdout, "");
    check_golden("errors/disk-read-only.txt", &error(&said, &user));
}
