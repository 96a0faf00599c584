//! Which counters: `System.Runtime[cpu-usage,working-set],Microsoft.AspNetCore.Hosting`, as dotnet-counters takes it.

/// Marks a provider whose EventCounters are wanted even where it has a meter.
const PREFIX: &str = "EventCounters\\";
/// What is collected when nothing is said.
const DEFAULT: &str = "System.Runtime";
/// Most providers in one text: each is a provider of the session.
const MAX_GROUPS: usize = 100;

/// What is wrong with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GrammarProblem {
    /// Nothing stands where a provider should.
    NoProvider,
    /// A `[` without its `]`.
    NotClosed,
    /// A `]` without its `[`.
    NotOpened,
    /// Something other than a comma after `]`.
    AfterList,
    /// A `[` within brackets.
    Nested,
    /// A character that no name can have.
    Character,
    /// One provider with and without the prefix.
    BothSources,
    /// Too many providers.
    TooMany,
}

/// A text that names no counters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("character {}: {}", .at + 1, words(.problem))]
pub struct GrammarError {
    /// The whole text.
    pub text: String,
    /// Which character of it, from 0.
    pub at: usize,
    /// What is wrong with it.
    pub problem: GrammarProblem,
}

fn words(problem: &GrammarProblem) -> &'static str {
    match problem {
        GrammarProblem::NoProvider => "the name of a provider is missing",
        GrammarProblem::NotClosed => "this '[' is never closed",
        GrammarProblem::NotOpened => "this ']' closes nothing",
        GrammarProblem::AfterList => "after ']' comes a comma, or nothing",
        GrammarProblem::Nested => "there is a list of counters open already",
        GrammarProblem::Character => "no name has this character",
        GrammarProblem::BothSources => {
            "this provider is there twice, with and without EventCounters\\ before it"
        }
        GrammarProblem::TooMany => "that are more than 100 providers",
    }
}

/// Where the values of a provider come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupSource {
    /// Its meter if it has one, its EventCounters otherwise.
    Any,
    /// Its EventCounters.
    EventCounters,
}

/// Counters of one provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The event source or meter.
    pub provider: String,
    /// Its counters by name; none means all.
    pub counters: Vec<String>,
    /// Where from.
    pub source: GroupSource,
}

/// Which counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    groups: Vec<Group>,
}

impl Default for Selection {
    fn default() -> Selection {
        let group = Group { provider: DEFAULT.to_owned(), counters: Vec::new(), source: GroupSource::Any };
        Selection { groups: vec![group] }
    }
}

impl Selection {
    /// Reads a text.
    pub fn parse(text: &str) -> Result<Selection, GrammarError> {
        Parser { text, groups: Vec::new() }.parse()
    }

    /// What is asked of each provider.
    #[must_use]
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// What is asked of this provider.
    pub(crate) fn group(&self, provider: &str) -> Option<&Group> {
        self.groups.iter().find(|group| group.provider.eq_ignore_ascii_case(provider))
    }

    /// Whether this counter is asked for.
    #[must_use]
    pub fn includes(&self, provider: &str, counter: &str) -> bool {
        self.group(provider).is_some_and(|group| {
            group.counters.is_empty() || group.counters.iter().any(|name| name.eq_ignore_ascii_case(counter))
        })
    }
}

struct Parser<'a> {
    text: &'a str,
    groups: Vec<Group>,
}

impl Parser<'_> {
    fn error<T>(&self, at: usize, problem: GrammarProblem) -> Result<T, GrammarError> {
        Err(GrammarError { text: self.text.to_owned(), at, problem })
    }

    fn parse(mut self) -> Result<Selection, GrammarError> {
        let characters: Vec<char> = self.text.chars().collect();
        let mut start = 0;
        let mut opened = None;
        let mut closed = None;
        for (at, character) in characters.iter().copied().chain([',']).enumerate() {
            let at_end = at == characters.len();
            match character {
                // The names go into arguments of the session, where a quote would end them.
                '"' => return self.error(at, GrammarProblem::Character),
                c if c.is_control() => return self.error(at, GrammarProblem::Character),
                '[' if opened.is_some() && closed.is_none() => {
                    return self.error(at, GrammarProblem::Nested);
                }
                '[' if closed.is_none() => opened = Some(at),
                ']' if closed.is_none() && opened.is_some() => closed = Some(at),
                ']' if closed.is_none() => return self.error(at, GrammarProblem::NotOpened),
                ',' if opened.is_none() || closed.is_some() => {
                    self.group(&characters, start, opened.unwrap_or(at), opened.zip(closed))?;
                    (start, opened, closed) = (at + 1, None, None);
                }
                ',' if at_end => {
                    return self.error(opened.unwrap_or_default(), GrammarProblem::NotClosed);
                }
                ' ' => {}
                _ if closed.is_some() => return self.error(at, GrammarProblem::AfterList),
                _ => {}
            }
        }
        Ok(Selection { groups: self.groups })
    }

    /// A provider, from `start` to `end`, with its list in brackets.
    fn group(
        &mut self,
        characters: &[char],
        start: usize,
        end: usize,
        list: Option<(usize, usize)>,
    ) -> Result<(), GrammarError> {
        let text = |from: usize, to: usize| -> String {
            characters.get(from..to).unwrap_or_default().iter().collect::<String>().trim().to_owned()
        };
        let name = text(start, end);
        let (provider, source) = match name.strip_prefix(PREFIX) {
            Some(provider) => (provider.trim().to_owned(), GroupSource::EventCounters),
            None => (name, GroupSource::Any),
        };
        if provider.is_empty() {
            return self.error(end, GrammarProblem::NoProvider);
        }
        let counters: Vec<String> = list.map_or(Vec::new(), |(open, close)| {
            let list = text(open + 1, close);
            list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
        });
        let same = self.groups.iter().position(|group| group.provider.eq_ignore_ascii_case(&provider));
        let Some(group) = same.and_then(|index| self.groups.get_mut(index)) else {
            if self.groups.len() >= MAX_GROUPS {
                return self.error(start, GrammarProblem::TooMany);
            }
            self.groups.push(Group { provider, counters, source });
            return Ok(());
        };
        if group.source != source {
            return self.error(start, GrammarProblem::BothSources);
        }
        // All counters and some of them are all of them.
        if group.counters.is_empty() || counters.is_empty() {
            group.counters.clear();
            return Ok(());
        }
        for counter in counters {
            if !group.counters.contains(&counter) {
                group.counters.push(counter);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn groups(text: &str) -> Vec<(String, Vec<String>, GroupSource)> {
        let selection = Selection::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        selection.groups.into_iter().map(|group| (group.provider, group.counters, group.source)).collect()
    }

    fn wrong(text: &str) -> (usize, GrammarProblem) {
        let error = Selection::parse(text).expect_err(text);
        (error.at, error.problem)
    }

    #[test]
    fn providers_and_their_counters() {
        use GroupSource::{Any, EventCounters};
        assert_eq!(groups("System.Runtime"), [("System.Runtime".into(), vec![], Any)]);
        assert_eq!(
            groups("System.Runtime[cpu-usage, working-set], Shop"),
            [
                ("System.Runtime".into(), vec!["cpu-usage".into(), "working-set".into()], Any),
                ("Shop".into(), vec![], Any)
            ]
        );
        assert_eq!(groups("EventCounters\\Shop[a]"), [("Shop".into(), vec!["a".into()], EventCounters)]);
        assert_eq!(groups("A[x],A[y,x]"), [("A".into(), vec!["x".into(), "y".into()], Any)]);
        assert_eq!(groups("A[x],A"), [("A".into(), vec![], Any)]);
        assert_eq!(groups("A[]"), [("A".into(), vec![], Any)]);
    }

    #[test]
    fn mistakes_are_pointed_at() {
        assert_eq!(wrong(""), (0, GrammarProblem::NoProvider));
        assert_eq!(wrong("A,,B"), (2, GrammarProblem::NoProvider));
        assert_eq!(wrong("A,"), (2, GrammarProblem::NoProvider));
        assert_eq!(wrong("[x]"), (0, GrammarProblem::NoProvider));
        assert_eq!(wrong("EventCounters\\"), (14, GrammarProblem::NoProvider));
        assert_eq!(wrong("Größe[x"), (5, GrammarProblem::NotClosed));
        assert_eq!(wrong("A]"), (1, GrammarProblem::NotOpened));
        assert_eq!(wrong("A[x]y"), (4, GrammarProblem::AfterList));
        assert_eq!(wrong("A[x][y]"), (4, GrammarProblem::AfterList));
        assert_eq!(wrong("A[x[y]]"), (3, GrammarProblem::Nested));
        assert_eq!(wrong("A\"b"), (1, GrammarProblem::Character));
        assert_eq!(wrong("A\nb"), (1, GrammarProblem::Character));
        assert_eq!(wrong("A,EventCounters\\A"), (2, GrammarProblem::BothSources));
        let many: Vec<String> = (0..=MAX_GROUPS).map(|index| format!("P{index}")).collect();
        assert_eq!(wrong(&many.join(",")).1, GrammarProblem::TooMany);
    }

    #[test]
    fn the_default_is_the_runtime() {
        assert_eq!(Ok(Selection::default()), Selection::parse("System.Runtime"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            if let Err(error) = Selection::parse(&text) {
                prop_assert!(error.at <= text.chars().count());
            }
        }

        #[test]
        fn no_brackets_make_it_panic(text in "[\\[\\],a \\\\\"]{0,12}") {
            if let Err(error) = Selection::parse(&text) {
                prop_assert!(error.at <= text.chars().count());
            }
        }
    }
}
