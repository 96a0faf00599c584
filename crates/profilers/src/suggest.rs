//! "Did you mean": the nearest word that exists.

/// The candidate nearest to what was typed, if it is near at all.
pub fn closest<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Below this likeness a suggestion would be a guess.
    const LIKE_ENOUGH: f64 = 0.6;
    candidates
        .into_iter()
        .map(|candidate| {
            (strsim::normalized_damerau_levenshtein(&typed.to_lowercase(), candidate), candidate)
        })
        .filter(|(likeness, _)| *likeness >= LIKE_ENOUGH)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        assert_eq!(closest("thread", ["threads", "exceptions"]), Some("threads"));
        assert_eq!(closest("Treads", ["threads", "exceptions"]), Some("threads"));
        assert_eq!(closest("tpo", ["top", "sort"]), Some("top"));
        assert_eq!(closest("zzz", ["threads", "exceptions"]), None);
    }
}
