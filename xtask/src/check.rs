//! Format, lints, documentation, and the rules that no compiler knows.

use std::fs;
use std::process::Command;

use anyhow::{Result, bail};

use crate::cargo::{cargo, command, output, root, run};

/// Longest source file; a longer one is two ideas.
const LONGEST_FILE: usize = 500;

/// Everything that CI checks beside the tests.
pub fn check() -> Result<()> {
    cargo(["fmt", "--all", "--check"])?;
    cargo(["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"])?;
    cargo(["clippy", "--package", "cli", "--no-default-features", "--", "-D", "warnings"])?;
    // The fuzz targets are no member of the workspace; an API that changes must not break them unnoticed.
    cargo([
        "clippy",
        "--manifest-path",
        "fuzz/Cargo.toml",
        "--target-dir",
        "target/fuzz-check",
        "--",
        "-D",
        "warnings",
    ])?;
    run(command(["doc", "--workspace", "--no-deps", "--document-private-items"])
        .env("RUSTDOCFLAGS", "-D warnings"))?;
    wordless_crates()?;
    house_rules()
}

/// Crates that must not know words: what they may know of this workspace. Who judges has facts alone, so that no sentence can be
/// read back.
const WORDLESS: &[(&str, &[&str])] = &[("facts", &[]), ("judgement", &["facts"])];

/// Refuses a way back from words to facts.
fn wordless_crates() -> Result<()> {
    for (name, allowed) in WORDLESS {
        let mut tree = command(["tree", "--package", name, "--edges", "normal", "--prefix", "none"]);
        let tree = output(&mut tree)?;
        if !of_workspace(&tree).any(|known| known == *name) {
            bail!("`cargo tree` does not say what {name} depends on: {tree}");
        }
        for known in of_workspace(&tree).filter(|known| known != name) {
            if !allowed.contains(&known) {
                bail!("{name} depends on {known}: it may know {allowed:?} and nothing else of the workspace");
            }
        }
    }
    println!("crates without words: none knows a crate that has any");
    Ok(())
}

/// The crates of a folder in what `cargo tree` prints: `facts v0.1.0 (/where/it/is)`.
fn of_workspace(tree: &str) -> impl Iterator<Item = &str> {
    tree.lines().filter(|line| line.contains(" (/")).filter_map(|line| line.split(' ').next())
}

/// Files that are too long, paths of somebody's machine, links in the docs that lead nowhere.
fn house_rules() -> Result<()> {
    let mut problems = Vec::new();
    let list = output(Command::new("git").args(["ls-files"]).current_dir(root()))?;
    for name in list.lines() {
        let path = root().join(name);
        let Ok(text) = fs::read_to_string(&path) else { continue };
        if name.ends_with(".rs") && text.lines().count() > LONGEST_FILE {
            problems.push(format!("{name}: more than {LONGEST_FILE} lines"));
        }
        for (number, line) in text.lines().enumerate() {
            if has_private_path(line) {
                problems.push(format!("{name}:{}: a path of one machine", number + 1));
            }
        }
        if name.ends_with(".md") {
            problems.extend(file_links(&text).map(|link| (path.with_file_name(""), link)).filter_map(
                |(folder, link)| {
                    let file = link.split('#').next().unwrap_or_default().to_owned();
                    (!file.is_empty() && !folder.join(&file).exists())
                        .then(|| format!("{name}: the link to {link} leads nowhere"))
                },
            ));
        }
    }
    if problems.is_empty() {
        println!("house rules: {} files are in order", list.lines().count());
        return Ok(());
    }
    bail!("house rules:\n  {}", problems.join("\n  "))
}

/// Folders of the machines on which this is developed; a committed one is a leak.
fn has_private_path(line: &str) -> bool {
    ["/root", "/work", "/home"].iter().any(|folder| {
        line.match_indices(&format!("{folder}/")).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            // `/proc/PID/root/` and `~/work/` are no such paths; `/home/app` in a test is nobody's.
            before.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '}' | '*' | '>' | '.' | '~' | '/'))
                && !line[at..].starts_with("/home/app")
        })
    })
}

/// Targets of the inline links of a Markdown text that are files.
fn file_links(text: &str) -> impl Iterator<Item = String> + '_ {
    text.match_indices("](").filter_map(|(at, _)| {
        let link = text[at + 2..].split(')').next()?;
        (!link.contains("://") && !link.starts_with('#') && !link.contains(' ')).then(|| link.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_real_private_paths_are_found() {
        let home = ["/ro", "ot/.cache"].concat();
        assert!(has_private_path(&format!("cache {home}")));
        assert!(has_private_path(&format!("\"{home}\"")));
        assert!(!has_private_path("/proc/{}/root/tmp"));
        assert!(!has_private_path("/proc/PID/root/tmp"));
    }

    #[test]
    fn crates_of_the_workspace_are_told_from_others() {
        let tree =
            "judgement v0.1.0 (/a/b)\nfacts v0.1.0 (/a/c)\nserde v1.0.2\nserde_derive v1.0.2 (proc-macro)\n";
        assert_eq!(of_workspace(tree).collect::<Vec<_>>(), ["judgement", "facts"]);
    }

    #[test]
    fn links_to_files_are_found() {
        let links: Vec<String> = file_links("[a](docs/a.md) [b](https://x) [c](#d) [e](f.md#g)").collect();
        assert_eq!(links, ["docs/a.md", "f.md#g"]);
    }
}
