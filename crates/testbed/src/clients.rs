//! Finding `npm` and `pip`, and installing them where that is ours to do.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::error::TestbedError;
use crate::packages::{Client, Package};
use crate::{search_path, system_packages};

/// A client that is there: the program and the arguments that come before our own.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) program: PathBuf,
    pub(crate) leading: &'static [&'static str],
}

/// The client of `package`, installed by the system's package manager if we are root and it is missing.
pub(crate) fn client_for(package: &Package) -> Result<Found, TestbedError> {
    if let Some(found) = find(package.client) {
        return Ok(found);
    }
    let (program, debian_package) = match package.client {
        Client::Npm => ("npm", "npm"),
        Client::Pip => ("pip", "python3-pip"),
    };
    let missing = |advice: String| TestbedError::ClientMissing { what: package.what, program, advice };
    let by_hand = format!("Install it (on Debian: `apt-get install {debian_package}`) and run this again.");
    let tried = system_packages::install(program, debian_package).ok_or_else(|| missing(by_hand))?;
    find(package.client).ok_or_else(|| {
        missing(format!(
            "`{tried}` did not bring it. Run that command by hand to see why, then run this again."
        ))
    })
}

fn find(client: Client) -> Option<Found> {
    let plain = |name: &str| search_path::find(name).map(|program| Found { program, leading: &[] });
    match client {
        Client::Npm => plain("npm"),
        Client::Pip => python_with_pip().or_else(|| plain("pip")).or_else(|| plain("pip3")),
    }
}

/// `python3 -m pip` is the surest spelling, but Debian ships a python3 without that module.
fn python_with_pip() -> Option<Found> {
    let program = search_path::find("python3")?;
    let answers = Command::new(&program)
        .args(["-m", "pip", "--version"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    answers.then_some(Found { program, leading: &["-m", "pip"] })
}
