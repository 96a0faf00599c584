//! A browser without a screen, to look at the pages that we write.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::{search_path, system_packages};

/// Names under which Chromium, and what is made of it, is installed.
const NAMES: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome-headless-shell"];

/// A browser without a screen.
#[derive(Debug, Clone)]
pub struct Browser {
    program: PathBuf,
}

impl Browser {
    /// The browser of this machine, installed by the system's package manager if we are root and it is missing; or why
    /// there is none.
    pub fn open() -> Result<&'static Browser, String> {
        static BROWSER: OnceLock<Option<Browser>> = OnceLock::new();
        let found = BROWSER.get_or_init(|| {
            find().or_else(|| {
                system_packages::install("chromium", "chromium")?;
                find()
            })
        });
        found.as_ref().ok_or_else(|| format!("there is no browser here (looked for {})", NAMES.join(", ")))
    }

    /// The elements of a page after its scripts have run. `address` is what stands behind the name of the file: `#...`.
    pub fn elements(&self, page: &Path, address: &str) -> std::io::Result<String> {
        let profile = tempfile::tempdir()?;
        let page = page.canonicalize()?;
        let output = Command::new(&self.program)
            // Time goes on as fast as the page is done with it.
            .args([
                "--headless",
                "--disable-gpu",
                "--no-first-run",
                "--virtual-time-budget=20000",
                "--dump-dom",
            ])
            // Its own sandbox needs rights that tests in a container have not; the pages are ours.
            .args(["--no-sandbox", "--disable-dev-shm-usage", "--window-size=1200,800"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("file://{}{address}", page.display()))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()?;
        let elements = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() && !elements.is_empty() {
            return Ok(elements);
        }
        Err(std::io::Error::other(format!("{} showed nothing: {}", self.program.display(), output.status)))
    }
}

fn find() -> Option<Browser> {
    NAMES.iter().find_map(|name| search_path::find(name)).map(|program| Browser { program })
}
