//! Targets in namespaces of their own, which stand in for containers.
//!
//! `unshare` and `mount` do the work: what they do can be repeated by hand in a shell.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::TestbedError;
use crate::search_path;

/// The folder that a container has for itself.
const TMP: &str = "/tmp";

/// The options of `unshare`. By --kill-child, everything inside dies when `unshare` does.
const UNSHARE: [&str; 8] =
    ["--pid", "--mount", "--fork", "--kill-child", "--mount-proc", "--propagation", "private", "--"];

/// Makes `/tmp` a new, empty file system, with some folders of the old one bound into it.
///
/// Arguments: a mount point, the folders to keep, `--`, the command. The new file system is completed elsewhere and
/// then moved, because the old folders cannot be reached once `/tmp` is covered.
const PRIVATE_TMP: &str = r#"
set -e
stage=$1; shift
mount -t tmpfs -o mode=1777 tmpfs "$stage"
while [ "$1" != -- ]; do
    mkdir -p "$stage${1#/tmp}"
    mount --bind "$1" "$stage${1#/tmp}"
    shift
done
shift
mount --move "$stage" /tmp
exec "$@"
"#;

/// The namespaces that a target gets for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Namespaces {
    /// Its own process ids (the target is process 1) and its own mounts.
    PidAndMount {
        /// Whether `/tmp` is a file system of its own as well, so that the diagnostics socket in it can only be
        /// reached through `/proc/PID/root`.
        private_tmp: bool,
    },
}

/// A command inside namespaces.
#[derive(Debug)]
pub(crate) struct Wrapped {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
}

impl Namespaces {
    /// Whether this process may create them. A test that needs them can skip itself with this message.
    pub fn available() -> Result<(), TestbedError> {
        let unavailable = |missing, advice| Err(TestbedError::NamespacesUnavailable { missing, advice });
        if !rustix::process::geteuid().is_root() {
            return unavailable("root", "Run this as root, or skip what needs a container.");
        }
        for (program, missing) in [
            ("unshare", "the program `unshare`"),
            ("mount", "the program `mount`"),
            ("setpriv", "the program `setpriv`"),
        ] {
            if search_path::find(program).is_none() {
                return unavailable(missing, "Install the system packages util-linux and mount.");
            }
        }
        // Root inside a container is often root without this right, and only a try can tell.
        let tried = Command::new("unshare").args(UNSHARE).arg("true").stderr(Stdio::null()).status();
        if !tried.is_ok_and(|status| status.success()) {
            return unavailable(
                "the right to create namespaces",
                "Give the container the capability SYS_ADMIN, or skip what needs namespaces.",
            );
        }
        Ok(())
    }

    /// Whether the target has a `/tmp` of its own.
    pub(crate) fn has_private_tmp(self) -> bool {
        matches!(self, Namespaces::PidAndMount { private_tmp: true })
    }

    /// Wraps a command. Its program and the cache can be reached from inside, also when they lie in `/tmp`.
    pub(crate) fn wrap(
        self,
        program: &Path,
        args: &[OsString],
        user: Option<(u32, u32)>,
        cache: &Path,
    ) -> Result<Wrapped, TestbedError> {
        Namespaces::available()?;
        let mut all: Vec<OsString> = UNSHARE.map(OsString::from).to_vec();
        if self.has_private_tmp() {
            // One folder serves all targets at once, because each mounts in a namespace of its own.
            let stage = cache.join("mount-point");
            fs::create_dir_all(&stage).map_err(TestbedError::disk("create", &stage))?;
            all.extend(["sh", "-c", PRIVATE_TMP, "sh"].map(OsString::from));
            all.push(stage.into());
            // A program may be a link to one elsewhere.
            let real = program.canonicalize().unwrap_or_else(|_| program.to_owned());
            let beside = |program: &Path| program.parent().map(Path::to_owned);
            let kept = [Some(cache.to_owned()), beside(program), beside(&real)].into_iter().flatten();
            let mut kept: Vec<PathBuf> = kept
                .filter(|folder| folder.starts_with(TMP) && (folder == cache || !folder.starts_with(cache)))
                .collect();
            kept.dedup();
            all.extend(kept.into_iter().map(OsString::from));
            all.push("--".into());
        }
        if let Some((user, group)) = user {
            // A change of user clears the signal that --kill-child relies on, so it is set again after it.
            all.extend(["setpriv", "--clear-groups", "--pdeathsig", "KILL"].map(OsString::from));
            all.extend(
                [format!("--reuid={user}"), format!("--regid={group}"), "--".to_owned()].map(OsString::from),
            );
        }
        all.push(program.into());
        all.extend_from_slice(args);
        Ok(Wrapped { program: PathBuf::from("unshare"), args: all })
    }
}
