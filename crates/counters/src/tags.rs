//! Tags. The runtime writes them as one text, `key=value,key=value`, and escapes nothing.

use model::Redaction;

/// Most tags of one series that are told apart; a text with more keeps the rest in the last one.
const MAX_TAGS: usize = 64;

/// Takes a text of tags apart. A part without `=`, or with a space in front, belongs to the value before it, which had a
/// comma in it; a value may have `=` in it. What cannot be told apart is lost in the runtime already.
#[must_use]
pub fn tags(text: &str) -> Vec<(&str, &str)> {
    pairs(text, '=')
}

/// The same with another character between key and value: EventCounters write `key:value`.
pub(crate) fn pairs(text: &str, separator: char) -> Vec<(&str, &str)> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    // Where the value of the last pair begins, and where the part that is looked at does.
    let mut value_at = 0;
    let mut at = 0;
    for part in text.split(',') {
        let end = at + part.len();
        match part.split_once(separator) {
            Some((key, value)) if is_key(key) && found.len() < MAX_TAGS => {
                value_at = end - value.len();
                found.push((key, value));
            }
            _ => {
                if let Some(last) = found.last_mut() {
                    last.1 = &text[value_at..end];
                }
            }
        }
        at = end + 1;
    }
    found
}

/// Tags with their values hidden; a text that is no tags is hidden as a whole.
pub(crate) fn redacted(text: &str, separator: char, redaction: Redaction) -> String {
    let pairs = pairs(text, separator);
    if redaction == Redaction::Off || pairs.is_empty() {
        return redaction.text(text);
    }
    let hidden: Vec<String> =
        pairs.iter().map(|(key, value)| format!("{key}{separator}{}", redaction.text(value))).collect();
    hidden.join(",")
}

fn is_key(text: &str) -> bool {
    text.chars().next().is_some_and(|first| !first.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pairs_with_odd_values() {
        assert_eq!(tags(""), []);
        assert_eq!(tags("a=1"), [("a", "1")]);
        assert_eq!(tags("a=1,b="), [("a", "1"), ("b", "")]);
        assert_eq!(tags("a=x, y,b=2"), [("a", "x, y"), ("b", "2")]);
        assert_eq!(tags("a=x, y=z"), [("a", "x, y=z")]);
        assert_eq!(tags("a=x=y"), [("a", "x=y")]);
        assert_eq!(tags("a=1,=2"), [("a", "1,=2")], "a key is never empty");
        assert_eq!(tags("lonely"), []);
        assert_eq!(pairs("hall:red,row:7", ':'), [("hall", "red"), ("row", "7")]);
    }

    #[test]
    fn hidden_values_are_still_tags_and_the_same_value_stays_the_same() {
        let text = redacted("user=bob,room=red, blue,again=bob", '=', Redaction::On);
        let found = tags(&text);
        assert_eq!(found.iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["user", "room", "again"]);
        assert_eq!(found[0].1, found[2].1);
        assert!(!text.contains("bob") && !text.contains("red"), "{text}");
        assert!(!redacted("no tags at all", ':', Redaction::On).contains("tags"));
        assert_eq!(redacted("user=bob", '=', Redaction::Off), "user=bob");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[a=,é]{0,30}") {
            prop_assert!(tags(&text).iter().all(|(key, _)| !key.is_empty()));
        }
    }
}
