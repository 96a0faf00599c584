//! Which packages a change can have broken: those whose files changed, and those that use them.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::cargo::{self, root};

/// Files outside of packages, and the packages whose tests read them. The first that fits counts.
const READERS: &[(&str, &[&str])] = &[
    ("patients/", &["testbed"]),
    ("tests/end-to-end/", &["cli"]),
    ("tests/live-tests.txt", &["testbed"]),
    ("docs/profilers/", &["profilers"]),
    ("docs/clinic.md", &["clinic"]),
    ("docs/", &["cli", "model", "profilers"]),
    ("README.md", &["cli"]),
    ("CONTRIBUTING.md", &["profilers"]),
    ("CHANGELOG.md", &[]),
    ("ARCHITECTURE.md", &[]),
    ("SECURITY.md", &[]),
    ("LICENSE", &[]),
    ("fuzz/", &[]),
];

/// Who uses whom beside what cargo knows: one that is built by another's build script.
const BUILT_BY: (&str, &str) = ("agent", "agent-host");

/// What a change can have broken.
#[derive(Debug, PartialEq, Eq)]
pub enum Affected {
    /// Something that everybody uses has changed.
    All,
    /// These packages.
    Some(Vec<String>),
}

/// What a change since `base` can have broken, with what is not committed.
pub fn packages(base: &str) -> Result<Affected> {
    let mut files = git(&["diff", "--name-only", base])?;
    files.extend(git(&["ls-files", "--others", "--exclude-standard"])?);
    let metadata = cargo::output(&mut cargo::command(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&metadata).context("what cargo says of the workspace")?;
    Ok(affected(&files, &Workspace::new(&metadata)?))
}

fn git(words: &[&str]) -> Result<Vec<String>> {
    let output = Command::new("git").args(words).current_dir(root()).output().context("starting git")?;
    if !output.status.success() {
        bail!("git {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

/// The packages: where each lies, and whom it uses.
#[derive(Debug, Default)]
struct Workspace {
    folders: BTreeMap<String, String>,
    uses: BTreeMap<String, BTreeSet<String>>,
}

impl Workspace {
    fn new(metadata: &Value) -> Result<Workspace> {
        let mut workspace = Workspace::default();
        let root = metadata["workspace_root"].as_str().context("the root")?;
        for package in metadata["packages"].as_array().context("the packages")? {
            let name = package["name"].as_str().context("a name")?.to_owned();
            let manifest = package["manifest_path"].as_str().context("a path")?;
            let folder = manifest.strip_prefix(root).unwrap_or(manifest).trim_start_matches('/');
            workspace.folders.insert(name.clone(), folder.trim_end_matches("Cargo.toml").to_owned());
            let used = package["dependencies"].as_array().into_iter().flatten();
            let used = used.filter_map(|one| Some(one["name"].as_str()?.to_owned())).collect();
            workspace.uses.insert(name, used);
        }
        workspace.uses.entry(BUILT_BY.1.to_owned()).or_default().insert(BUILT_BY.0.to_owned());
        Ok(workspace)
    }

    /// The packages that these files belong to or are read by; `None` if it could be anybody.
    fn owners(&self, file: &str) -> Option<Vec<String>> {
        let own = self.folders.iter().find(|(_, folder)| file.starts_with(folder.as_str()));
        if let Some((name, _)) = own {
            return Some(vec![name.clone()]);
        }
        let readers = READERS.iter().find(|(start, _)| file.starts_with(start));
        readers.map(|(_, readers)| readers.iter().map(|&name| name.to_owned()).collect())
    }
}

fn affected(files: &[String], workspace: &Workspace) -> Affected {
    let mut found = BTreeSet::new();
    for file in files {
        match workspace.owners(file) {
            Some(owners) => found.extend(owners),
            None => return Affected::All,
        }
    }
    loop {
        let users = workspace.uses.iter().filter(|(_, used)| used.iter().any(|one| found.contains(one)));
        let more: Vec<String> =
            users.map(|(name, _)| name.clone()).filter(|name| !found.contains(name)).collect();
        if more.is_empty() {
            return Affected::Some(found.into_iter().collect());
        }
        found.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> Workspace {
        let package = |name: &str, uses: &[&str]| {
            let uses: Vec<Value> = uses.iter().map(|name| serde_json::json!({"name": name})).collect();
            serde_json::json!({"name": name, "manifest_path": format!("/r/crates/{name}/Cargo.toml"), "dependencies": uses})
        };
        let packages = [
            package("model", &[]),
            package("agent", &["model"]),
            package("agent-host", &["model"]),
            package("testbed", &[]),
            package("cli", &["agent-host", "testbed"]),
        ];
        Workspace::new(&serde_json::json!({"workspace_root": "/r", "packages": packages})).unwrap()
    }

    fn broken(files: &[&str]) -> Affected {
        affected(&files.iter().map(|&file| file.to_owned()).collect::<Vec<_>>(), &workspace())
    }

    #[test]
    fn users_of_what_changed_are_tested_too() {
        let some = |names: &[&str]| Affected::Some(names.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(broken(&["crates/agent-host/src/lib.rs"]), some(&["agent-host", "cli"]));
        assert_eq!(broken(&["crates/agent/src/lib.rs"]), some(&["agent", "agent-host", "cli"]));
        assert_eq!(broken(&["patients/portable/X.cs"]), some(&["cli", "testbed"]));
        assert_eq!(broken(&["CHANGELOG.md"]), some(&[]));
        assert_eq!(broken(&["CHANGELOG.md", "Cargo.lock"]), Affected::All);
    }
}
