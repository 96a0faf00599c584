//! `ps` and `info`.

use testbed::Runtime;

use crate::support::{drdotnet, said};

#[test]
fn a_running_program_is_listed() {
    let sessions = tempfile::tempdir().unwrap();
    let target = testbed::shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let listed = said(drdotnet(sessions.path()).args(["ps", "--json"]));
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    let list: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    let row = list["processes"].as_array().unwrap().iter().find(|row| row["pid"] == target.pid()).unwrap();
    assert_eq!(row["runtime_version"], "9.0.7");
}
