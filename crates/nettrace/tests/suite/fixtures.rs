//! Traces of all runtimes against their golden summaries; `fixtures/README.md` says how they were made.

use crate::summary;

use std::path::{Path, PathBuf};

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let entries =
        std::fs::read_dir(folder).expect("the folder can be read").flatten().map(|entry| entry.path());
    let mut paths: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|name| name == "nettrace")).collect();
    paths.sort();
    assert!(paths.len() >= 10, "{paths:?}");
    paths
}

#[test]
fn every_fixture_has_the_accepted_summary() {
    for path in fixtures() {
        let bytes = std::fs::read(&path).expect("the fixture can be read");
        let (_, text, error) = summary::summarize(bytes.as_slice());
        assert!(error.is_none(), "{}: {error:?}", path.display());
        golden::check(path.with_extension("txt"), &text);
    }
}

#[test]
fn the_recipe_of_every_fixture_is_written_down() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/README.md");
    let readme = std::fs::read_to_string(readme).expect("the README can be read");
    for path in fixtures() {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        assert!(readme.contains(&format!("`{name}`")), "{name} is not in fixtures/README.md");
    }
}

#[test]
fn no_fixture_is_large() {
    for path in fixtures() {
        let size = std::fs::metadata(&path).expect("the fixture is there").len();
        assert!(size <= 200_000, "{}: {size} bytes", path.display());
    }
}
