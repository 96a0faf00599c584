//! Every rule has its page, and the page names the rule's thresholds with their reasons, as the code has them.

use std::path::{Path, PathBuf};

use super::RULES;

const BEGIN: &str = "<!-- thresholds -->\n";
const END: &str = "<!-- end -->\n";

fn page(id: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/checkup/{id}.md"))
}

/// The numbers of a rule, each with what the code says of it.
fn thresholds(id: &str) -> String {
    let file = format!("src/rules/{}.rs", id.replace('-', "_"));
    let source = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).expect("a rule");
    let (mut rows, mut words) = (String::new(), String::new());
    for line in source.lines() {
        if let Some(more) = line.strip_prefix("///") {
            words += more;
            continue;
        }
        let constant = line.strip_prefix("pub ").unwrap_or(line).strip_prefix("const ");
        if let Some((name, value)) = constant.and_then(|text| text.trim_end_matches(';').split_once(": ")) {
            let (kind, value) = value.split_once(" = ").expect("a value");
            if !kind.starts_with('&') {
                rows += &format!("| `{name}` | `{value}` |{words} |\n");
            }
        }
        words.clear();
    }
    match rows.as_str() {
        "" => "It has none of its own: those of the look that proves it hold.\n".to_owned(),
        rows => format!("| Constant | Value | Why |\n|---|---|---|\n{rows}"),
    }
}

#[test]
fn every_rule_has_its_page_with_its_thresholds() {
    for rule in RULES {
        let path = page(rule.id);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", rule.id));
        for heading in ["## Evidence for", "## Evidence against", "## Confidence", "## What to do"] {
            assert!(text.contains(&format!("\n{heading}\n")), "{} says nothing on {heading}", rule.id);
        }
        assert!(text.starts_with(&format!("# {}: ", rule.id)), "{}", rule.id);
        let (before, rest) = text.split_once(BEGIN).expect("a place for the thresholds");
        let (_, after) = rest.split_once(END).expect("its end");
        golden::check(&path, &format!("{before}{BEGIN}{}{END}{after}", thresholds(rule.id)));
    }
}

#[test]
fn the_overview_links_every_page_and_no_page_is_left_over() {
    let overview = include_str!("../../../../docs/checkup.md");
    for rule in RULES {
        assert!(overview.contains(&format!("(checkup/{}.md)", rule.id)), "docs/checkup.md lacks {}", rule.id);
    }
    let pages = page("x").parent().expect("a folder").read_dir().expect("pages").count();
    assert_eq!(pages, RULES.len(), "docs/checkup has a page without a rule");
}
