//! `drdotnet checkup` on programs whose calls to others are slow or fail: to whom, by whom, and nothing that may be secret.

use model::{Finding, Report};
use testbed::{Runtime, shared};

use crate::checkup::report;
use crate::support::User;

/// How often a patient is examined before it counts as not diagnosed: a busy machine may take the processors away for a while.
const VISITS: usize = 4;

/// What is said of slow or failing calls with a culprit, and all that is said.
fn diagnosed(id: &str, runtime: Runtime, arguments: &[&str], options: &[&str]) -> (Finding, String) {
    let builder = arguments.iter().fold(shared().target(id, runtime), |builder, word| builder.arg(word));
    let target = builder.start().expect("it starts");
    let pid = target.pid().to_string();
    let mut said = None;
    for _ in 0..VISITS {
        let answer = User::new().says(&[&["checkup", "--json", "-p", &pid], options].concat());
        let found = of(&report(&answer));
        if let Some(finding) = found.filter(|finding| finding.culprit.is_some()) {
            assert!(target.is_alive());
            return (finding, answer.stdout);
        }
        said = Some(answer);
    }
    panic!("{id} on {runtime}: {said:?}");
}

fn of(report: &Report) -> Option<Finding> {
    report.findings.iter().find(|finding| finding.id == "slow-dependency").cloned()
}

fn culprit(finding: &Finding) -> &str {
    finding.culprit.as_ref().map_or("nobody", |culprit| culprit.name.as_str())
}

fn evidence<'a>(finding: &'a Finding, what: &str) -> &'a str {
    let found = finding.evidence.iter().find(|evidence| evidence.what == what);
    found.map_or_else(|| panic!("no {what}: {finding:?}"), |evidence| evidence.seen.as_str())
}

#[test]
fn slow_commands_are_told_with_database_statement_and_caller() {
    for runtime in [Runtime::Net31, Runtime::Net8] {
        let (finding, _) = diagnosed("slow-database", runtime, &[], &[]);
        assert_eq!(culprit(&finding), "Depot.Shelves.FindAsync");
        assert!(finding.title.contains("Warehouse on db.depot.example,1433"), "{finding:?}");
        let statement = evidence(&finding, "Most of the time in");
        assert!(statement.starts_with("SELECT COUNT(*) FROM dbo.Shelves WHERE"), "{statement}");
    }
}

#[test]
fn commands_of_a_client_with_activities_are_told_too() {
    let (finding, _) = diagnosed("slow-postgres", Runtime::Net9, &[], &[]);
    assert_eq!(culprit(&finding), "Ferry.Decks.ReserveAsync");
    assert!(finding.title.contains("ferry on pg.ferry.example"), "{finding:?}");
    assert!(evidence(&finding, "Most of the time in").starts_with("update deck set"), "{finding:?}");
}

#[test]
fn failing_commands_are_told_with_what_the_server_says() {
    let arguments = ["milliseconds=5", "fails=1", "clients=1"];
    let (finding, _) = diagnosed("slow-database", Runtime::Net9, &arguments, &[]);
    assert_eq!(culprit(&finding), "Depot.Shelves.FindAsync");
    assert!(finding.title.contains(" fail: "), "{finding:?}");
    assert!(evidence(&finding, "They fail with").contains("Invalid object name"), "{finding:?}");
}

#[test]
fn refused_calls_are_told_on_every_runtime_and_with_the_reason_where_it_is_passed_on() {
    for runtime in Runtime::ALL {
        let (finding, _) = diagnosed("failing-http", runtime, &["refused=1"], &[]);
        assert_eq!(culprit(&finding), "Billing.TaxClient.RateAsync", "{runtime}");
        assert!(finding.title.contains("127.0.0.1:1 fail"), "{runtime}: {finding:?}");
        let reason = evidence(&finding, "They fail with");
        assert!(reason.contains("no answer"), "{runtime}: {reason}");
        // 3.1 passes on only what the exception's own type declares.
        assert!(reason.contains("refused") || runtime == Runtime::Net31, "{runtime}: {reason}");
    }
}

#[test]
fn calls_that_are_given_up_are_failing_calls() {
    let (finding, _) = diagnosed("slow-http", Runtime::Net9, &["timeout=200"], &[]);
    assert_eq!(culprit(&finding), "Shipping.CarrierClient.QuoteAsync");
    assert!(evidence(&finding, "They fail with").contains("timed out"), "{finding:?}");
}

#[test]
fn queries_are_never_shown_and_other_texts_only_if_allowed() {
    let (finding, all) = diagnosed("failing-http", Runtime::Net9, &[], &[]);
    assert!(evidence(&finding, "Most of the time for").starts_with("/rates/de ("), "{finding:?}");
    assert!(!all.contains("letmein"), "{all}");
    let (finding, all) = diagnosed("slow-database", Runtime::Net9, &[], &["--redact"]);
    assert!(evidence(&finding, "Most of the time in").contains("characters, #"), "{finding:?}");
    assert!(!all.contains("dbo.Shelves") && !all.contains("db.depot.example"), "{all}");
}
