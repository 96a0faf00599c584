//! `sessions`, and where they are kept.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use model::Report;
use rustix::process::Signal;
use testbed::{Runtime, Target, shared};

use crate::support::{Said, User, check_golden, copy_for_others, is_root, said};

fn target() -> Target {
    shared().target("healthy-idle-service", Runtime::Net9).start().expect("a target")
}

fn run(user: &User, target: &Target, options: &[&str]) -> Said {
    let said =
        user.says(&[&["run", "threads", "-p", &target.pid().to_string(), "-d", "0.1"], options].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    said
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[test]
fn a_session_is_found_by_id_beginning_path_and_last_and_is_private() {
    let (user, target) = (User::new(), target());
    let report = run(&user, &target, &["--json"]).report();
    let listed = user.listed();
    let id = listed[0]["id"].as_str().unwrap();
    let folder = user.sessions().join(id);
    assert_eq!(listed[0]["status"], "done");
    assert_eq!(listed[0]["profiler"], "threads");
    assert_eq!(listed[0]["target"]["pid"], target.pid());
    assert_eq!(listed[0]["folder"], folder.to_str().unwrap());
    for name in [id, &id[..10], "last", folder.to_str().unwrap()] {
        assert_eq!(user.says(&["sessions", "show", name, "--json"]).report(), report, "{name}");
    }
    let text = user.says(&["sessions", "show", "last"]).stdout;
    assert!(text.starts_with("Threads · Patients"), "{text}");
    let list = user.says(&["sessions", "list"]).stdout;
    assert!(list.contains(id) && list.contains("done") && list.contains(" threads, "), "{list}");

    assert_eq!((mode(&user.sessions()), mode(&folder)), (0o700, 0o700));
    user.says(&["sessions", "open", "last"]);
    let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 5, "{files:?}");
    assert!(files.iter().all(|file| mode(file) == 0o600), "{files:?}");
}

#[test]
fn a_report_is_exported_in_every_format() {
    let (user, target) = (User::new(), target());
    let report = run(&user, &target, &["--json"]).report();
    for (format, beginning) in [
        ("terminal", "Threads · Patients"),
        ("markdown", "# Threads: Patients"),
        ("html", "<!"),
        ("json", "{"),
    ] {
        let said = user.says(&["sessions", "export", "last", "-f", format]);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
        assert!(said.stdout.starts_with(beginning), "{format}: {}", said.stdout);
        let file = user.folder().join(format);
        let written = user.says(&["sessions", "export", "last", "-f", format, "-o", file.to_str().unwrap()]);
        assert_eq!((written.code, written.stdout.as_str()), (Some(0), ""), "{}", written.stderr);
        assert_eq!(fs::read_to_string(&file).unwrap(), said.stdout);
        assert_eq!(mode(&file), 0o600);
    }
    let json = fs::read_to_string(user.folder().join("json")).unwrap();
    assert_eq!(Report::from_json(&json).unwrap(), report);
}

#[test]
fn open_writes_a_page_and_says_where_it_is() {
    let (user, target) = (User::new(), target());
    run(&user, &target, &[]);
    let mut command = user.command(&["sessions", "open", "last"]);
    let said = said(command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY"));
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), "no browser here; open this file:\n"));
    let page = fs::read_to_string(said.stdout.trim_end()).unwrap();
    assert!(page.contains("<html") && page.contains("Patients"), "{page}");
}

#[test]
fn sessions_are_removed_by_name_by_age_and_all_together_but_never_while_running() {
    let (user, target) = (User::new(), target());
    for _ in 0..3 {
        run(&user, &target, &[]);
    }
    let ids: Vec<String> = user.listed().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), 3);
    assert_eq!(user.says(&["sessions", "rm", &ids[0]]).code, Some(0));
    assert_eq!(user.listed().len(), 2);

    assert_eq!(user.says(&["sessions", "rm", "--older-than", "1h"]).stderr, "nothing to remove\n");
    let manifest = user.sessions().join(&ids[1]).join("session.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let year = format!("\"started_at\": \"{}", &ids[1][..4]);
    assert!(text.contains(&year), "{text}");
    fs::write(&manifest, text.replace(&year, "\"started_at\": \"2001")).unwrap();
    assert_eq!(user.says(&["sessions", "rm", "--older-than", "1h"]).code, Some(0));
    assert_eq!(user.listed()[0]["id"], ids[2].as_str());

    let long = user.starts(&["run", "threads", "-p", &target.pid().to_string(), "-d", "10m"]);
    let running = user.wait_running()["id"].as_str().unwrap().to_owned();
    let refused = user.says(&["sessions", "rm", &running]);
    assert_eq!(refused.code, Some(16));
    check_golden("errors/still-running.txt", &refused.stderr.replace(&running, "ID"));
    assert_eq!(user.says(&["sessions", "rm", "--all"]).code, Some(0));
    let left = user.listed();
    assert_eq!((left.len(), &left[0]["status"]), (1, &"running".into()), "{left:#?}");
    long.signal(Signal::INT);
    assert_eq!(long.ends().code, Some(0));
}

#[test]
fn a_session_goes_to_a_folder_that_is_new_or_empty() {
    let (user, target) = (User::new(), target());
    let folder = user.folder().join("kept/here");
    let name = folder.to_str().unwrap();
    let said = run(&user, &target, &["-o", name]);
    assert!(said.stderr.contains(&format!("kept in {name} ")), "{}", said.stderr);
    assert_eq!(user.says(&["sessions", "show", name]).stdout, said.stdout);
    assert!(user.listed().is_empty() && !user.sessions().exists());

    let pid = target.pid().to_string();
    let refused = user.says(&["run", "threads", "-p", &pid, "-d", "0.1", "-o", name]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(9), ""));
    check_golden("errors/folder-not-empty.txt", &refused.stderr.replace(name, "DIR"));

    let empty = user.folder().join("empty");
    fs::create_dir(&empty).unwrap();
    run(&user, &target, &["-o", empty.to_str().unwrap()]);
    assert!(empty.join("report.json").exists());
}

#[test]
fn without_a_home_folder_sessions_go_to_a_private_temporary_one() {
    let (user, target) = (User::new(), target());
    let temporary = user.folder().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let homeless = |arguments: &[&str]| {
        let mut command = user.command(arguments);
        for name in ["DRDOTNET_SESSIONS", "XDG_STATE_HOME", "HOME"] {
            command.env_remove(name);
        }
        said(command.env("TMPDIR", &temporary))
    };
    assert_eq!(homeless(&["sessions", "list", "--json"]).json()["sessions"].as_array().unwrap().len(), 0);
    let said = homeless(&["run", "threads", "-p", &target.pid().to_string(), "-d", "0.1"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let folder = temporary.join(format!("drdotnet-{}", rustix::process::geteuid().as_raw()));
    let warning =
        format!("no home folder can be written; the session goes to {}/sessions\n", folder.display());
    assert!(said.stderr.starts_with(&warning), "{}", said.stderr);
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(homeless(&["sessions", "show", "last"]).stdout, said.stdout);

    // Somebody else could have made it, to read along.
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    for arguments in [vec!["sessions", "list"], vec!["run", "threads", "-p", &target.pid().to_string()]] {
        let refused = homeless(&arguments);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(9), ""));
        let error = refused.stderr.split_once("error: ").map(|(_, error)| format!("error: {error}")).unwrap();
        check_golden("errors/untrusted-folder.txt", &error.replace(folder.to_str().unwrap(), "DIR"));
    }
}

#[test]
fn a_home_folder_of_somebody_else_is_not_written() {
    if !is_root() {
        return;
    }
    let (user, (folder, binary)) = (User::new(), copy_for_others());
    let mut command = Command::new(&binary);
    user.prepare(&mut command);
    command.args(["sessions", "list"]).uid(65534).gid(65534).current_dir("/");
    command.env_remove("DRDOTNET_SESSIONS").env_remove("XDG_STATE_HOME");
    let said = said(command.env("HOME", "/nonexistent").env("TMPDIR", folder.path()));
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    assert!(said.stdout.starts_with("No sessions yet."), "{}", said.stdout);
}

#[test]
fn a_file_tells_its_format_and_a_device_stays_one() {
    let (user, target) = (User::new(), target());
    user.says(&["run", "threads", "-p", &target.pid().to_string(), "-d", "0.1"]);
    for (name, beginning) in [("r.json", "{"), ("r.html", "<!doctype html>"), ("r.md", "# "), ("r", "# ")] {
        let path = user.folder().join(name);
        let said = user.says(&["sessions", "export", "-o", path.to_str().unwrap()]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert!(said.stderr.starts_with("wrote "), "{}", said.stderr);
        let text = fs::read_to_string(&path).unwrap().to_lowercase();
        assert!(text.starts_with(beginning), "{name}: {text:.40}");
    }
    let link = user.folder().join("null");
    std::os::unix::fs::symlink("/dev/null", &link).unwrap();
    assert_eq!(user.says(&["sessions", "export", "-o", link.to_str().unwrap()]).code, Some(0));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "what is there is written to, not replaced");
    let refused = user.says(&["run", "threads", "-p", &target.pid().to_string(), "-o", "report.json"]);
    assert_eq!(refused.code, Some(11), "{}", refused.stderr);
}
