//! Where the library goes: other file systems, other users, folders in which nothing can be run.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use agent_host::{AgentError, Options, library_name};
use testbed::{Namespaces, Runtime, shared};

use crate::support::{Guest, every_runtime, idle, temp_folder};

pub const NOBODY: u32 = 65534;

pub fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("skipped: needs root");
    }
    root
}

/// A file system of its own; gone when this is dropped.
struct Mount(tempfile::TempDir);

impl Mount {
    fn with(options: &str) -> Mount {
        let folder = tempfile::tempdir().expect("a folder");
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(folder.path()).status();
        assert!(mount.expect("mount runs").success());
        Mount(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}

#[test]
fn a_folder_that_cannot_hold_a_library_is_named_with_the_way_out() {
    if !is_root() {
        return;
    }
    let guest = Guest::quiet(Runtime::Net9);
    let attach = |folder: &Path| {
        let options = Options { folder: Some(folder.to_owned()), ..Options::default() };
        guest.attach_with(&options).map(|attached| attached.leave())
    };
    let noexec = Mount::with("noexec");
    let error = attach(noexec.path()).expect_err("noexec");
    assert!(matches!(error, AgentError::NoExec { .. }), "{error}");
    assert!(error.to_string().contains("DRDOTNET_AGENT_FOLDER"), "{error}");
    let readonly = Mount::with("ro");
    let error = attach(readonly.path()).expect_err("read-only");
    assert!(matches!(error, AgentError::ReadOnly { .. }), "{error}");
    let full = Mount::with("size=64k");
    let error = attach(full.path()).expect_err("full");
    assert!(matches!(error, AgentError::Unwritable { .. }), "{error}");
    assert_eq!(fs::read_dir(full.path()).expect("a folder").count(), 0, "nothing is left behind");
    let error = attach(Path::new("/nowhere")).expect_err("no folder");
    assert!(matches!(error, AgentError::NoFolder { .. }), "{error}");
    let good = Mount::with("mode=755");
    attach(good.path()).expect("a folder that is fine").expect("it leaves");
    guest.can_be_visited();
}

#[test]
fn a_file_of_another_user_is_never_loaded() {
    if !is_root() {
        return;
    }
    let guest = Guest::quiet(Runtime::Net9);
    let file = guest.file(library_name());
    fs::write(&file, "planted").expect("a file");
    chown(&file, Some(NOBODY), None).expect("another owner");
    let error = guest.attach().expect_err("planted");
    assert!(matches!(error, AgentError::Planted { owner: NOBODY, .. }), "{error}");
    fs::remove_file(&file).expect("removed");
    std::os::unix::fs::symlink("/etc/passwd", &file).expect("a link");
    let error = guest.attach().expect_err("a link");
    assert!(matches!(error, AgentError::Planted { .. }), "{error}");
    fs::remove_file(&file).expect("removed");
    guest.can_be_visited();
}

#[test]
fn a_spoilt_file_is_replaced_and_a_mapped_one_is_not_touched() {
    every_runtime(|runtime| {
        let guest = Guest::quiet(runtime);
        guest.can_be_visited();
        let file = guest.file(library_name());
        for content in ["", "spoilt"] {
            fs::write(&file, content).expect("a file");
            let spoilt = fs::metadata(&file).expect("a file").ino();
            let held = fs::File::open(&file).expect("open, so that its number is not given to another");
            guest.can_be_visited();
            assert_eq!(held.metadata().expect("a file").ino(), spoilt);
            assert_eq!(held.metadata().expect("a file").len(), content.len() as u64, "not written to");
            assert!(!file.exists());
        }
        // Anybody could change what is writable for all, between our look and the load.
        fs::write(&file, "writable").expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o777)).expect("permissions");
        guest.can_be_visited();
    });
}

#[test]
fn a_target_in_a_container_is_visited_through_its_own_folder() {
    if !is_root() {
        return;
    }
    for runtime in Runtime::ALL {
        let folder = tempfile::tempdir().expect("a folder");
        let builder = shared()
            .target("healthy-idle-service", runtime)
            .namespaces(Namespaces::PidAndMount { private_tmp: true });
        let guest = Guest::started(builder, folder, "");
        let mut attached = guest.attach().expect("the agent comes");
        assert_ne!(attached.hello().process, guest.target.pid(), "it is in a pid namespace of its own");
        assert!(!attached.stacks().expect("stacks").stacks.is_empty());
        assert!(!Path::new("/tmp").join(library_name()).exists());
        assert!(attached.leave().expect("it leaves").confirmed);
        guest.can_be_visited();
    }
}

#[test]
fn another_users_target_is_visited_by_root() {
    if !is_root() {
        return;
    }
    for runtime in Runtime::ALL {
        let folder = temp_folder();
        let builder = idle(runtime).tmpdir(folder.path()).user(NOBODY, NOBODY);
        // The single-file host of 8 unpacks itself into the home folder, which this user does not have.
        let builder = builder.env("DOTNET_BUNDLE_EXTRACT_BASE_DIR", folder.path());
        let guest = Guest::started(builder, folder, "");
        guest.can_be_visited();
        guest.can_be_visited();
    }
}

#[test]
fn what_killed_hosts_left_behind_is_removed() {
    let guest = Guest::quiet(Runtime::Net9);
    let old = ["drdotnet-0123.sock", "drdotnet-agent-0123.so", "drdotnet-agent-0123.so.4-5"];
    let kept = ["drdotnet-young.sock", "drdotnet-agent-locked.so", "drdotnet-other", "mine.sock"];
    for name in old.into_iter().chain(kept) {
        let path = guest.file(name);
        if name.ends_with(".sock") {
            // Nobody listens there once this is dropped.
            drop(UnixListener::bind(&path).expect("a socket"));
        } else {
            fs::write(&path, name).expect("a file");
        }
        if !name.contains("young") {
            assert!(
                Command::new("touch")
                    .args(["-h", "-d", "1 hour ago"])
                    .arg(&path)
                    .status()
                    .expect("touch")
                    .success()
            );
        }
    }
    let locked = fs::File::open(guest.file("drdotnet-agent-locked.so")).expect("a file");
    locked.lock_shared().expect("a lock");
    guest.can_be_visited();
    for name in old {
        assert!(!guest.has_file(name), "{name} is still there");
    }
    for name in kept {
        assert!(guest.has_file(name), "{name} is gone");
    }
}
