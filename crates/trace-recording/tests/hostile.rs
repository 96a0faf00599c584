//! Whatever is typed, nothing panics, and a mistake is pointed at between whole characters.

use proptest::prelude::*;
use trace_recording::{Condition, Keep, StoppingEvent, SyntaxError, parse_clr_events, parse_providers};

fn check<T>(outcome: Result<T, SyntaxError>) {
    if let Err(error) = outcome {
        assert!(error.text.get(error.at.clone()).is_some(), "{error:?}");
        assert!(!error.problem.is_empty() && !error.expected.is_empty(), "{error:?}");
    }
}

proptest! {
    #[test]
    fn any_text(text in ".{0,60}") {
        check(parse_providers(&text));
        check(parse_clr_events(&text, Some(&text)));
        check(Keep::parse(&text));
        check(Condition::parse(&text));
        check(StoppingEvent::new("P", Some("E"), Some(&text)));
    }

    #[test]
    fn texts_that_look_right(
        text in "(cpu|heap|memory|gc-pause|exception|counter)[ ><=]{0,2}[A-Za-z0-9./%é ]{0,12}( for .{0,4})?",
        provider in "[A-Zé]{0,3}:?[0-9a-gx]{0,3}:?[0-9a-z]{0,3}:?[a-z=;\"\\\\é,]{0,9}",
    ) {
        check(Condition::parse(&text));
        check(parse_providers(&provider));
    }
}
