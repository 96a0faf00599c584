//! A program of others, trimmed and in a single file on .NET 10.

use agent_host::Reason;

use crate::support::Guest;

#[test]
fn a_strangers_program_answers_every_question_and_is_left_as_it_was() {
    let guest = Guest::stranger();
    guest.asked_all_the_time(|| {
        for _ in 0..3 {
            let mut attached = guest.attach().expect("the agent comes");
            guest.ask_everything(&mut attached).expect("answers");
            // It awaits its input.
            let census = attached.async_census().expect("a count");
            assert!(census.pending.iter().any(|pending| pending.links.len() > 1), "{census:?}");
            let answer = attached.stacks().expect("stacks");
            let names = answer.methods.values().map(|method| format!("{}.{}", method.class, method.name));
            assert!(names.into_iter().any(|name| name == guest.known_method), "{:?}", answer.methods);
            let farewell = attached.leave().expect("it leaves");
            assert_eq!((farewell.reason, farewell.confirmed), (Some(Reason::Told), true));
        }
        for number in 4..=20 {
            assert_eq!(guest.visit(), number, "all visits are in one image of the library");
        }
    });
    assert!(!guest.has_agent_thread());
    assert!(guest.target.is_alive(), "{}", guest.target.stderr_text());
}
