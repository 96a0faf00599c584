//! Running `drdotnet` and looking at what it says.

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A `drdotnet` command whose sessions go to `sessions`.
pub fn drdotnet(sessions: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_drdotnet"));
    command.env("DRDOTNET_SESSIONS", sessions).env_remove("NO_COLOR").stdin(Stdio::null());
    command
}

/// What a finished command printed.
pub struct Said {
    /// Exit code.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// Runs a command to its end.
pub fn said(command: &mut Command) -> Said {
    let Output { status, stdout, stderr } = command.output().expect("drdotnet starts");
    Said {
        code: status.code(),
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
    }
}
