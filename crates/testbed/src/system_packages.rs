//! Installing programs with the system's package manager, where that is ours to do.

use std::process::{Command, Stdio};

use crate::progress::say;
use crate::search_path;

/// Tries to install `debian_package`, which has the program, and returns the command that did; none where we are not root
/// or there is no apt-get.
pub(crate) fn install(program: &str, debian_package: &str) -> Option<String> {
    let apt_get = search_path::find("apt-get").filter(|_| rustix::process::geteuid().is_root())?;
    say(&format!("{program} is not installed; installing the system package {debian_package}"));
    let run = |arguments: &[&str]| {
        Command::new(&apt_get)
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    // Another process may be installing at this moment: wait for it.
    let install =
        ["install", "-y", "--no-install-recommends", debian_package, "-o", "DPkg::Lock::Timeout=600"];
    // A fresh container image has no package lists, so the first try may fail for that reason alone.
    if !run(&install) {
        run(&["update"]);
        run(&install);
    }
    Some(format!("apt-get {}", install.join(" ")))
}
