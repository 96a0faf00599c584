use super::*;
use proptest::prelude::*;

#[test]
fn what_steers_a_terminal_is_shown() {
    for (text, shown) in [
        ("plain Text<T>, déjà 日本 🦀", "plain Text<T>, déjà 日本 🦀"),
        ("\u{1b}]8;;http://x\u{7}link", r"\u{1b}]8;;http://x\u{7}link"),
        ("\u{9b}2J\u{7f}", r"\u{9b}2J\u{7f}"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("a\u{202e}b\u{2066}c\u{200f}\u{61c}", r"a\u{202e}b\u{2066}c\u{200f}\u{61c}"),
        ("zero\u{200b}width\u{feff}", r"zero\u{200b}width\u{feff}"),
        ("line\u{2028}paragraph\u{2029}", r"line\u{2028}paragraph\u{2029}"),
        ("tag\u{e0041}", r"tag\u{e0041}"),
    ] {
        assert_eq!(printable(text), shown);
    }
}

#[test]
fn accents_stay_and_heaps_of_them_do_not() {
    assert_eq!(printable("e\u{301}"), "e\u{301}");
    assert_eq!(printable("\u{301}e"), r"\u{301}e", "an accent with no letter would land on our own text");
    let heap = format!("e{}", "\u{301}".repeat(100));
    assert_eq!(printable(&heap).matches('\u{301}').count(), MOST_MARKS);
}

#[test]
fn long_names_are_cut() {
    let megabyte = "x".repeat(1_000_000);
    let cut = printable(&megabyte);
    assert_eq!(cut.chars().count(), LONGEST_NAME);
    assert!(cut.ends_with("x…"));
    assert_eq!(printable_within("abc", 3), "abc");
    assert_eq!(printable_within("abcd", 3), "ab…");
    assert_eq!(printable_within("ab\u{1b}", 7), "ab…", "an escape is not cut in two");
}

proptest! {
    #[test]
    fn nothing_dangerous_is_left(text in any::<String>(), limit in 1usize..50) {
        let shown = printable_within(&text, limit);
        prop_assert!(!shown.chars().any(must_be_shown_escaped));
        prop_assert!(shown.chars().count() <= limit);
    }
}
