//! What holds for every string a target can make up.

use crate::samples;
use model::Report;
use proptest::prelude::*;
use reports::terminal::{self, Colour, NARROWEST, TerminalStyle};
use reports::{html, json, markdown};
use unicode_width::UnicodeWidthStr;

/// Text with many of the characters that mean something to one of the formats.
fn name() -> impl Strategy<Value = String> {
    let spiced = "[<>&\"'|`*_\\[\\]()!#@:/.~$\\\\\\n\\r\\t =+\\-0-9a-cw\u{1b}\u{7}\u{9b}\u{202e}\u{200d}\u{301}\u{fe0f}日🦀]{1,40}";
    prop_oneof![spiced, "\\PC{1,60}", any::<String>().prop_filter("not empty", |text| !text.is_empty())]
}

fn names() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(name(), 1..4)
}

/// The same report with harmless names.
fn harmless(names: &[String]) -> Report {
    samples::named_by(&vec!["x".to_owned(); names.len()])
}

/// The tags of a page, without the one attribute that holds a string of the report.
fn tags(page: &str) -> Vec<String> {
    let tags = page.split('<').skip(1).map(|part| {
        let tag = part.split('>').next().unwrap_or_default();
        tag.split(" aria-label=").next().unwrap_or_default().to_owned()
    });
    tags.collect()
}

/// Pipes that separate cells.
fn bare_pipes(line: &str) -> usize {
    line.replace("\\\\", "").replace("\\|", "").matches('|').count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_terminal_is_never_steered_nor_overrun(names in names(), width in 1usize..160) {
        let style = TerminalStyle { width, colour: Colour::Never };
        let text = terminal::render(&samples::named_by(&names), &style);
        for line in text.lines() {
            prop_assert!(line.width() <= width.max(NARROWEST), "{line:?}");
            prop_assert!(line.chars().all(|c| !c.is_control()), "{line:?}");
            prop_assert!(!line.contains(['\u{202e}', '\u{2028}', '\u{200d}', '\u{fe0f}']), "{line:?}");
            prop_assert!(!line.ends_with(' '), "{line:?}");
        }
    }

    #[test]
    fn names_add_no_tag_to_a_page(names in names()) {
        let page = html::render(&samples::named_by(&names));
        prop_assert_eq!(tags(&page), tags(&html::render(&harmless(&names))));
        prop_assert!(!page.contains(['\u{1b}', '\u{202e}']), "{}", page);
    }

    #[test]
    fn names_add_no_line_cell_or_tag_to_markdown(names in names()) {
        let text = markdown::render(&samples::named_by(&names));
        let plain = markdown::render(&harmless(&names));
        prop_assert!(!text.contains(['<', '>', '\u{1b}', '\u{202e}']), "{}", text);
        prop_assert_eq!(text.lines().count(), plain.lines().count());
        for (line, plain) in text.lines().zip(plain.lines()) {
            prop_assert_eq!(bare_pipes(line), bare_pipes(plain), "{}", line);
        }
        let bare = text.replace("\\\\", "").replace("\\]", "");
        prop_assert!(!bare.contains("http://") && !bare.contains(']'), "{}", text);
    }

    #[test]
    fn json_keeps_every_character_and_steers_nothing(names in names()) {
        let report = samples::named_by(&names);
        let text = json::render(&report);
        prop_assert_eq!(Report::from_json(&text).unwrap(), report);
        prop_assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{}", text);
        prop_assert!(!text.contains(['\u{202e}', '\u{200d}']), "{}", text);
    }
}
