//! The table in docs/clinic.md is that of the patients there are, and says nothing worse than what is known.

use std::collections::BTreeSet;

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/clinic.md");
    std::fs::read_to_string(path).expect("`cargo xtask clinic` writes it")
}

#[test]
fn the_table_has_a_row_for_everybody_on_every_runtime() {
    let page = page();
    let rows: BTreeSet<String> = clinic::rows(&page).iter().map(|row| row.visit.to_string()).collect();
    let all: BTreeSet<String> = clinic::all().iter().map(ToString::to_string).collect();
    let missing: Vec<_> = all.difference(&rows).collect();
    assert!(missing.is_empty(), "`cargo xtask clinic` is due; docs/clinic.md has no row for {missing:?}");
    let lines = page.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(lines, all.len(), "docs/clinic.md has rows of patients that there are no more, or some twice");
}

#[test]
fn what_the_table_says_was_missed_is_known_with_its_reason() {
    let unknown: Vec<String> = clinic::rows(&page())
        .iter()
        .filter(|row| !row.is_met() && clinic::reason(&row.visit).is_none())
        .map(clinic::Row::markdown)
        .collect();
    assert!(unknown.is_empty(), "neither met nor in UNMET with a reason:\n{}", unknown.join("\n"));
}
