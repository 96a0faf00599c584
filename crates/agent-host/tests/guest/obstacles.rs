//! Targets that cannot be visited now, or not as they are: stopped, held by a debugger, with a temp folder of no use.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use agent_host::{AgentError, Options};
use model::ProcessId;
use nix::sys::ptrace;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use process_view::Process;
use testbed::{Namespaces, Runtime};

use crate::placing::{NOBODY, is_root};
use crate::support::{Guest, every_runtime, idle, temp_folder};

#[test]
fn a_stopped_target_is_an_error_and_not_harmed() {
    every_runtime(|runtime| {
        let guest = Guest::quiet(runtime);
        guest.target.suspend().expect("it stops");
        let error = guest.attach().expect_err("nobody is there to load it");
        assert!(matches!(error, AgentError::Stopped { by: None }), "{error}");
        assert!(error.to_string().contains("kill -CONT"), "{error}");
        guest.target.resume().expect("it goes on");
        guest.can_be_visited();
    });
}

#[test]
fn an_order_to_a_target_that_stops_in_the_middle_does_no_harm_later() {
    every_runtime(|runtime| {
        let guest = Guest::quiet(runtime);
        // Stopped after we have looked: the order lies in its socket.
        let client = guest.client.clone().with_timeout(std::time::Duration::from_millis(200));
        guest.target.suspend().expect("it stops");
        let request = crate::hostile::order(&guest);
        assert!(client.attach_profiler(&request).is_err());
        guest.target.resume().expect("it goes on");
        // It is carried out now: the agent comes, finds nobody, and leaves.
        crate::support::wait_for("the order to be carried out", || {
            fs::read_to_string(format!("/proc/{}/maps", guest.target.pid()))
                .is_ok_and(|maps| maps.contains("drdotnet-agent-"))
        });
        guest.wait_until_alone();
        guest.can_be_visited();
    });
}

/// All threads of a process, held as a debugger holds them.
struct Held(Vec<Pid>);

impl Held {
    fn all_of(pid: u32) -> Held {
        let tasks = Process::new(ProcessId(pid)).tasks().expect("tasks");
        let mut held = Held(Vec::new());
        for task in tasks {
            let thread = Pid::from_raw(i32::try_from(task.id.0).expect("a thread"));
            // One that has just ended is no matter.
            if ptrace::seize(thread, ptrace::Options::empty()).is_err() {
                continue;
            }
            held.0.push(thread);
            ptrace::interrupt(thread).expect("it stops");
            waitpid(thread, Some(WaitPidFlag::__WALL)).expect("it has stopped");
        }
        held
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        for thread in &self.0 {
            let _ = ptrace::detach(*thread, None);
        }
    }
}

#[test]
fn a_target_in_a_debugger_is_an_error_that_names_the_debugger() {
    if !is_root() {
        return;
    }
    for runtime in Runtime::ALL {
        let guest = Guest::quiet(runtime);
        let held = Held::all_of(guest.target.pid());
        let error = guest.attach().expect_err("it is held");
        assert!(matches!(error, AgentError::Stopped { by: Some(_) }), "{error}");
        assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
        drop(held);
        guest.can_be_visited();
    }
}

/// Changes how the target sees its temp folder.
fn remount(guest: &Guest, how: &str) {
    let pid = guest.target.pid().to_string();
    let options = format!("remount,{how}");
    let status =
        Command::new("nsenter").args(["--target", &pid, "--mount", "mount", "-o", &options, "/tmp"]).status();
    assert!(status.expect("nsenter runs").success());
}

#[test]
fn a_mount_of_the_target_that_refuses_is_named_with_the_way_out() {
    if !is_root() {
        return;
    }
    for runtime in Runtime::ALL {
        let builder = idle(runtime).namespaces(Namespaces::PidAndMount { private_tmp: true });
        let guest = Guest::started(builder, temp_folder(), "");
        remount(&guest, "noexec");
        let error = guest.attach().expect_err("noexec");
        assert!(matches!(error, AgentError::NoExec { .. }), "{error}");
        assert!(error.to_string().contains("DRDOTNET_AGENT_FOLDER"), "{error}");
        remount(&guest, "exec,ro");
        let error = guest.attach().expect_err("read-only");
        assert!(matches!(error, AgentError::ReadOnly { .. }), "{error}");
        assert!(error.to_string().contains("DRDOTNET_AGENT_FOLDER"), "{error}");
        // The way out: a folder that the target sees, too.
        let elsewhere = tempfile::Builder::new().prefix("guest").tempdir_in("/var/tmp").expect("a folder");
        let options = Options { folder: Some(elsewhere.path().to_owned()), ..Options::default() };
        let mut attached = guest.attach_with(&options).expect("the agent comes");
        assert!(!attached.threads().expect("threads").threads.is_empty());
        assert!(attached.leave().expect("it leaves").confirmed);
        remount(&guest, "rw");
        guest.can_be_visited();
    }
}

#[test]
fn a_folder_that_the_targets_user_cannot_enter_is_an_error() {
    if !is_root() {
        return;
    }
    for runtime in Runtime::ALL {
        let folder = temp_folder();
        let builder = idle(runtime).tmpdir(folder.path()).user(NOBODY, NOBODY);
        // The single-file host of 8 unpacks itself into the home folder, which this user does not have.
        let builder = builder.env("DOTNET_BUNDLE_EXTRACT_BASE_DIR", folder.path());
        let guest = Guest::started(builder, folder, "");
        let closed = tempfile::tempdir().expect("a folder");
        fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700)).expect("permissions");
        let options = Options { folder: Some(closed.path().to_owned()), ..Options::default() };
        let error = guest.attach_with(&options).expect_err("it cannot be read there");
        assert!(matches!(error, AgentError::NotLoaded { .. }), "{error}");
        assert!(error.to_string().contains("DRDOTNET_AGENT_FOLDER"), "{error}");
        assert_eq!(fs::read_dir(closed.path()).expect("a folder").count(), 0, "nothing is left behind");
        guest.can_be_visited();
    }
}

#[test]
fn another_users_target_is_refused_without_root() {
    if !is_root() {
        return;
    }
    // Where everybody may run it.
    let folder = temp_folder();
    let probe: PathBuf = folder.path().join("agent-probe");
    fs::copy(env!("CARGO_BIN_EXE_agent-probe"), &probe).expect("a copy");
    fs::set_permissions(&probe, fs::Permissions::from_mode(0o755)).expect("permissions");
    for runtime in Runtime::ALL {
        let guest = Guest::quiet(runtime);
        let output = Command::new(&probe)
            .args([&guest.target.pid().to_string(), "threads"])
            .uid(NOBODY)
            .gid(NOBODY)
            .output()
            .expect("the probe runs");
        assert!(!output.status.success());
        println!("{runtime}: {}", String::from_utf8_lossy(&output.stderr).trim());
        assert!(!guest.has_agent_thread());
        guest.can_be_visited();
    }
}

#[test]
fn an_owner_who_wants_no_profilers_is_respected() {
    for (name, value) in
        [("DOTNET_EnableDiagnostics_Profiler", "0"), ("COMPlus_EnableDiagnostics_Profiler", "0x0")]
    {
        every_runtime(|runtime| {
            let folder = temp_folder();
            let guest = Guest::started(idle(runtime).tmpdir(folder.path()).env(name, value), folder, "");
            let error = guest.attach().expect_err("switched off");
            assert!(matches!(error, AgentError::SwitchedOff { .. }), "{error}");
            assert!(error.to_string().contains(&format!("{name}={value}")), "{error}");
            assert!(!guest.has_file(agent_host::library_name()), "nothing was written");
        });
    }
}
