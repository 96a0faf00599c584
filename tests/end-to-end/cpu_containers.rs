//! `drdotnet cpu` on targets in pid, mount and user namespaces of their own, which stand in for containers.

use std::process::{Command, Stdio};

use model::FrameKind;
use stored_profiles::Side;
use testbed::{Namespaces, Runtime, shared};

use crate::cpu::{HOT, kept, may_watch_all, session};
use crate::support::{User, eventually, skip, start};

/// Mounts the patient's folder where nobody outside sees it, gives it a temp folder of its own, and starts it.
const CONTAINER: &str = r#"set -e
    mount -t tmpfs tmpfs /mnt
    mkdir /mnt/app /mnt/tmp
    mount --bind "$1" /mnt/app
    shift
    export TMPDIR=/mnt/tmp
    exec "$@""#;

#[test]
fn names_lines_and_native_symbols_are_read_through_the_targets_root() {
    if !may_watch_all() {
        return;
    }
    if let Err(reason) = Namespaces::available() {
        skip(&reason.to_string());
        return;
    }
    let line = shared().target("hot-method", Runtime::Net9).command().unwrap();
    let words: Vec<String> = line.words().iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let assembly = words.iter().find(|word| word.ends_with(".dll")).expect("an assembly");
    let folder = std::path::Path::new(assembly).parent().unwrap().to_str().unwrap().to_owned();
    for user_namespace in [false, true] {
        let user = User::new();
        let mut command = Command::new("unshare");
        line.apply_environment(&mut command);
        if user_namespace {
            command.args(["--user", "--map-root-user"]);
        }
        command.args([
            "--pid",
            "--mount",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "sh",
            "-c",
            CONTAINER,
            "sh",
        ]);
        command.arg(&folder).args(words.iter().map(|word| word.replace(&folder, "/mnt/app")));
        command.stdin(Stdio::null());
        let container = start(&mut command);
        let pid = eventually("it has a child", || {
            let children = format!("/proc/{0}/task/{0}/children", container.pid());
            let child: u32 = std::fs::read_to_string(children).ok()?.trim().parse().ok()?;
            // The shell becomes the program.
            let line = std::fs::read(format!("/proc/{child}/cmdline")).ok()?;
            String::from_utf8_lossy(&line).contains("/mnt/app/").then_some(child)
        });
        eventually("it answers", || {
            let list = user.says(&["ps", "--json"]).json();
            let rows = list["processes"].as_array().expect("rows");
            rows.iter().any(|row| row["pid"] == pid && row["status"] == "ready").then_some(())
        });
        let pid = pid.to_string();
        // It may not be at work yet.
        let recording = eventually("it works", || {
            let user = User::new();
            let run = user.says(&["cpu", "-p", &pid, "-d", "1", "--rate", "499", "--json"]);
            run.report();
            let recording = kept(&session(&user));
            let profile = recording.of_side(Side::OnCpu).next().expect("a profile");
            profile.frames.iter().any(|frame| frame.name == HOT).then_some(recording)
        });
        let profile = recording.of_side(Side::OnCpu).next().unwrap();
        let hot = profile.frames.iter().find(|frame| frame.name == HOT).unwrap();
        assert!(hot.line.is_some(), "lines are in a file that only the target sees: {hot:?}");
        let native = |name: &str| {
            let frames = profile.frames.iter();
            frames.filter(|frame| frame.kind == FrameKind::Native).any(|frame| frame.name.contains(name))
        };
        assert!(native("start_thread") || native("clone"), "user namespace {user_namespace}");
    }
}
