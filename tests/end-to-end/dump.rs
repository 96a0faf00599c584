//! `drdotnet dump` on real programs.

use std::fs;
use std::path::Path;
use std::process::Command;

use testbed::{Namespaces, Runtime, shared};

use crate::support::{BINARY, Said, User, check_golden, is_root, said, skip};

/// An error with names that do not change from run to run.
fn plain(said: &Said, user: &User, pid: &str) -> String {
    let text = said.stderr.replace(user.folder().to_str().expect("a path"), "DIR").replace(pid, "PID");
    let home = shared().cache_dir().to_str().expect("a path").to_owned();
    // From the error on: the size that is expected before it changes from run to run.
    let from = text.find("error: ").unwrap_or(0);
    text[from..].replace(&home, "CACHE")
}

#[test]
fn a_dump_is_written_by_each_type_and_told_with_its_size_and_pause() {
    let user = User::new();
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().expect("a target");
    let pid = target.pid().to_string();
    for kind in ["Full", "heap", "Mini", "TRIAGE"] {
        let file = user.folder().join(kind).to_str().expect("a path").to_owned();
        let said = user.says(&["dump", "collect", "-p", &pid, "--type", kind, "-o", &file, "--json"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let answer = said.json();
        assert_eq!(answer["file"], file.as_str());
        assert_eq!(answer["kind"], kind.to_lowercase());
        assert_eq!(answer["bytes"], Path::new(&file).metadata().expect("the dump").len());
        assert!(answer["stopped_ns"].as_u64().is_some_and(|time| time > 0), "{answer}");
        assert!(said.stderr.contains("will write a ") && said.stderr.contains("stand still"), "{said:?}");
        fs::remove_file(file).expect("the dump");
    }
    assert!(target.is_alive());
}

#[test]
fn the_default_file_lies_here_and_is_named_by_time() {
    let user = User::new();
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().expect("a target");
    let mut command = user.command(&["dump", "collect", &target.pid().to_string(), "--type", "Mini"]);
    let said = said(command.current_dir(user.folder()));
    assert_eq!(said.code, Some(0), "{said:?}");
    let names: Vec<String> = fs::read_dir(user.folder())
        .expect("the folder")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("core_"))
        .collect();
    assert_eq!(names.len(), 1, "{names:?}");
    assert_eq!(names[0].len(), "core_20261115_081104".len(), "{names:?}");
    assert!(said.stdout.contains(&names[0]) && said.stdout.contains("the process stood still for about "));
}

#[test]
fn runtimes_that_cannot_are_explained_and_not_asked() {
    let user = User::new();
    for (name, runtime) in [("not-runnable", Runtime::Net31), ("missing", Runtime::Net8)] {
        let target = shared().target("healthy-idle-service", runtime).start().expect("a target");
        let pid = target.pid().to_string();
        let file = user.folder().join("core");
        let said = user.says(&["dump", "collect", "-p", &pid, "-o", file.to_str().expect("a path")]);
        assert_eq!((said.code, said.stdout.as_str()), (Some(33), ""), "{said:?}");
        assert!(!file.exists());
        check_golden(&format!("errors/dump-createdump-{name}.txt"), &plain(&said, &user, &pid));
        assert!(target.is_alive());
    }
    let stranger = shared().stranger().start().expect("the stranger");
    let pid = stranger.pid().to_string();
    let file = user.folder().join("core");
    let said =
        user.says(&["dump", "collect", "-p", &pid, "--type", "Heap", "-o", file.to_str().expect("a path")]);
    assert_eq!(said.code, Some(33), "{said:?}");
    check_golden("errors/dump-only-full.txt", &plain(&said, &user, &pid));
    assert!(!file.exists() && stranger.is_alive());
}

#[test]
fn places_that_do_not_work_are_explained() {
    let user = User::new();
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().expect("a target");
    let pid = target.pid().to_string();
    fs::write(user.folder().join("there"), "precious").expect("a file");
    for (name, place) in [("no-folder", "missing/core"), ("exists", "there"), ("percent", "core_%p")] {
        let path = user.folder().join(place);
        let said = user.says(&["dump", "collect", "-p", &pid, "-o", path.to_str().expect("a path")]);
        assert_eq!((said.code, said.stdout.as_str()), (Some(34), ""), "{said:?}");
        check_golden(&format!("errors/dump-{name}.txt"), &plain(&said, &user, &pid));
    }
    assert_eq!(fs::read_to_string(user.folder().join("there")).expect("the file"), "precious");
    assert!(target.is_alive());
}

#[test]
fn another_users_folder_is_explained() {
    if !is_root() {
        return;
    }
    let user = User::new();
    let target =
        shared().target("healthy-idle-service", Runtime::Net9).user(65534, 65534).start().expect("a target");
    let pid = target.pid().to_string();
    let path = user.folder().join("core");
    let said = user.says(&["dump", "collect", "-p", &pid, "-o", path.to_str().expect("a path")]);
    assert_eq!(said.code, Some(34), "{said:?}");
    check_golden("errors/dump-not-allowed.txt", &plain(&said, &user, &pid));
}

/// `drdotnet dump collect` on a target that shares a mount namespace of the test's own with it.
fn on_mount(user: &User, mount: &str, name: &str) {
    if let Err(reason) = Namespaces::available() {
        skip(&reason.to_string());
        return;
    }
    let line = shared().target("healthy-idle-service", Runtime::Net9).command().expect("a target");
    let place = user.folder().join("disk");
    fs::create_dir(&place).expect("a mount point");
    let words: Vec<String> = line
        .words()
        .iter()
        .map(|word| format!("'{}'", word.to_string_lossy().replace('\'', "'\\''")))
        .collect();
    // The target is started inside, so that it sees the mount; it ends with the shell.
    let script = format!(
        "set -e; {mount}; {} > '{}' & target=$!; trap 'kill $target' EXIT; \
         while ! grep -q ready '{1}'; do sleep 0.1; done; \
         set +e; '{BINARY}' dump collect -p $target --type Mini -o \"$1/core\"; code=$?; \
         echo target $target >&2; ls -A \"$1\" >&2; exit $code",
        words.join(" "),
        user.folder().join("ready").display()
    );
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &script, "sh"]).arg(&place);
    line.apply_environment(&mut command);
    user.prepare(&mut command);
    let said = said(&mut command);
    assert_eq!(said.code, Some(34), "{said:?}");
    let (error, rest) = said.stderr.split_once("target ").expect("the target's pid");
    let pid = rest.lines().next().expect("a pid").trim();
    // Nothing is left behind.
    assert_eq!(rest.lines().skip(1).filter(|line| line.contains("core")).count(), 0, "{said:?}");
    let told = Said { code: said.code, stdout: String::new(), stderr: error.to_owned() };
    check_golden(&format!("errors/dump-{name}.txt"), &plain(&told, user, pid));
}

#[test]
fn a_full_disk_is_explained_and_nothing_is_left() {
    on_mount(&User::new(), "mount -t tmpfs -o size=1m tmpfs \"$1\"", "disk-full");
}

#[test]
fn a_read_only_disk_is_explained() {
    on_mount(&User::new(), "mount -t tmpfs -o ro tmpfs \"$1\"", "read-only");
}

#[test]
fn a_target_with_its_own_file_system_is_told_where_the_file_is() {
    if let Err(reason) = Namespaces::available() {
        skip(&reason.to_string());
        return;
    }
    let user = User::new();
    let target = shared()
        .target("healthy-idle-service", Runtime::Net9)
        .namespaces(Namespaces::PidAndMount { private_tmp: true })
        .start()
        .expect("a target");
    let said = user.says(&["dump", "collect", "-p", &target.pid().to_string(), "--type", "Mini", "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let answer = said.json();
    assert!(answer["file"].as_str().is_some_and(|file| file.starts_with("/tmp/core_")), "{answer}");
    let here = answer["seen_from_here"].as_str().expect("a path");
    assert!(here.starts_with(&format!("/proc/{}/root/tmp/core_", target.pid())), "{here}");
    assert_eq!(
        Path::new(here).metadata().expect("the dump").len(),
        answer["bytes"].as_u64().expect("a size")
    );
    fs::remove_file(here).expect("the dump");
}
