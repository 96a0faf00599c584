//! What is to be recorded, when it cannot be understood; and the profiles.

use crate::support::{User, check_golden};

#[test]
fn a_request_that_cannot_be_understood_is_pointed_at() {
    let user = User::new();
    let long = format!(
        "Some.Provider.With.A.Very.Long.Name.Indeed:0x1:5,{}Other:zz:5:key=value",
        "Filler:1,".repeat(9)
    );
    for (name, options) in [
        ("provider-keywords", &["--providers", "System.Net.Http:0xFG:5"][..]),
        ("provider-level", &["--providers", "A:1:4,Microsoft-Windows-DotNETRuntime:8003:loud"]),
        ("provider-long", &["--providers", &long]),
        ("provider-arguments", &["--providers", "System.Runtime:0:1:EventCounterIntervalSec"]),
        ("provider-twice", &["--providers", "A:1:4:x=1,A:2:4:y=2"]),
        ("provider-none", &["--providers", ","]),
        ("clr-events", &["--clrevents", "gc+excption"]),
        ("profile-unknown", &["--profile", "gc-verbos"]),
        ("profile-strange", &["--profile", "dotnet-common,zzzzzzzz"]),
        ("keep", &["--keep", "60s,lots"]),
        ("when-kind", &["--keep", "60s", "--when", "load>3"]),
        ("when-value", &["--keep", "60s", "--when", "cpu>80%", "--when", "heap>500"]),
        (
            "stopping-event",
            &[
                "--stopping-event-provider-name",
                "P",
                "--stopping-event-event-name",
                "E",
                "--stopping-event-payload-filter",
                "a:1,b",
            ],
        ),
    ] {
        // The request is looked at before the process: there is none with this name.
        let said = user.says(&[&["trace", "collect", "-n", "nobody"], options].concat());
        assert_eq!((said.code, said.stdout.as_str()), (Some(20), ""), "{options:?}: {}", said.stderr);
        check_golden(&format!("errors/trace-{name}.txt"), &said.stderr);
    }
}

#[test]
fn options_that_need_each_other() {
    let user = User::new();
    for options in [
        &["--when", "cpu>80%"][..],
        &["--stopping-event-event-name", "E"],
        &["--stopping-event-provider-name", "P", "--stopping-event-payload-filter", "a:1"],
        &["--buffersize", "0"],
    ] {
        let said = user.says(&[&["trace", "collect", "-n", "nobody"], options].concat());
        assert_eq!(said.code, Some(2), "{options:?}: {}", said.stderr);
    }
    assert_eq!(user.says(&["trace", "collect", "-n", "nobody", "--duration", "soon"]).code, Some(12));
    assert_eq!(user.says(&["trace", "collect", "-n", "nobody", "--show-child-io"]).code, Some(11));
}

#[test]
fn the_profiles_are_listed() {
    let user = User::new();
    for (name, options) in [("list", &[][..]), ("json", &["--json"])] {
        let said = user.says(&[&["trace", "list-profiles"], options].concat());
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
        check_golden(&format!("trace-profiles/{name}.txt"), &said.stdout);
    }
}
