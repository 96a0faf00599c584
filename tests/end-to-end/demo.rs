//! `drdotnet demo`: the first thing that a newcomer sees.

use std::fs;
use std::path::Path;

use crate::support::{Said, User, said};

fn process_of(said: &Said) -> &str {
    let line = said.stdout.lines().find_map(|line| line.strip_prefix("$ drdotnet checkup -p "));
    line.unwrap_or_else(|| panic!("{said:?}"))
}

#[test]
fn the_demo_opens_a_shop_and_names_what_is_wrong_with_it() {
    let user = User::new();
    // Its page goes where the test can see it, and so does the shop's socket.
    let said = said(user.command(&["demo"]).env("TMPDIR", user.folder()));
    assert_eq!(said.code, Some(0), "{said:?}");
    let text = &said.stdout;
    for page in ["/search", "/basket", "/pay"] {
        let visit = text.lines().find(|line| line.contains(&format!("GET {page}")));
        assert!(visit.is_some_and(|line| line.contains("HTTP/1.1 200")), "{page}: {text}");
    }
    // Each illness with its culprit, as the source has it.
    for culprit in ["PaymentGateway.AwaitReplyAsync", "Baskets.s_open", "PriceTag.Parse"] {
        let named = text
            .lines()
            .any(|line| (line.contains("method ") || line.contains("field ")) && line.contains(culprit));
        assert!(named, "{culprit}: {text}");
    }
    for part in ["Vital signs", "Closer looks", "Cost"] {
        assert!(text.lines().any(|line| line.starts_with(part)), "{part}: {text}");
    }
    let page = user.folder().join(format!("drdotnet-demo-{}.html", process_of(&said)));
    assert!(text.contains(&page.display().to_string()), "{text}");
    let html = fs::read_to_string(&page).expect("the page");
    assert!(html.contains("PaymentGateway.AwaitReplyAsync"), "{html}");
    assert!(!Path::new("/proc").join(process_of(&said)).exists(), "the shop is still open");
}
